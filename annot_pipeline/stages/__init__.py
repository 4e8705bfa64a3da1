"""Stages, a folder for each subject; `registry` lists them, `build` runs them in order.

In each folder, modules that make tables take Arrow tables and return Arrow tables; the others read
inputs from the store and write outputs to it.
"""
