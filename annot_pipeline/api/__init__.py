"""The Python API: frames in, frames out; nothing else imports it but `annot_pipeline` itself."""
