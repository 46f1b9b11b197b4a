"""Capture pipeline: turn client events into sessions, lessons and metrics, and answer hooks with context blocks."""
