"""Building blocks of all admin pages: big lists, row pages, actions that ask first. Without models of its own."""
