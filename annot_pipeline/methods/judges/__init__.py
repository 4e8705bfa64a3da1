"""Tests of judges on control items, and the power of these tests."""
