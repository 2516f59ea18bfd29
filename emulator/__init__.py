"""Emulator of RL training infrastructure."""
