package nsplugin

import "slices"

// Watches returns whether a directory is watched.
func Watches(p *Plugin, dir string) bool { return slices.Contains(p.watch.files.WatchList(), dir) }
