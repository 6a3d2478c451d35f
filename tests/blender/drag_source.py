# SPDX-License-Identifier: GPL-3.0-or-later
"""A small window in the corner of the display to drag files from, like a file manager.

/usr/bin/python3 drag_source.py FILE...
"""

import pathlib
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402

uris = [pathlib.Path(path).resolve().as_uri() for path in sys.argv[1:]]
window = Gtk.Window(type=Gtk.WindowType.POPUP)
window.set_default_size(40, 40)
window.move(0, 0)
window.add(Gtk.EventBox())
window.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
window.drag_source_add_uri_targets()
window.connect("drag-data-get", lambda _window, _context, data, *_: data.set_uris(uris))
window.connect("drag-end", Gtk.main_quit)
window.show_all()
print("shown", flush=True)
Gtk.main()
