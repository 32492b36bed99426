"""Drawings of a net for people: what a picture shows, where its nodes stand, and its output as SVG or DOT."""
