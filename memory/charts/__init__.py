"""Figures: pure functions from typed rows to what Plotly draws. No database, no request; tested by value."""
