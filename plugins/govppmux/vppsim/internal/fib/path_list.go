package fib

import "slices"

// PathList is a list of paths that something other than a route forwards along.
type PathList struct{ paths []Path }

// NewPathList makes a list; its next hops become entries of their tables, as those
// of routes do.
func (f *Tables) NewPathList(paths []Path) *PathList {
	sorted := slices.Clone(paths)
	slices.SortStableFunc(sorted, Path.Compare)
	f.stamp(sorted)
	f.track(sorted)
	return &PathList{sorted}
}

// DeletePathList undoes NewPathList.
func (f *Tables) DeletePathList(l *PathList) { f.untrack(l.paths) }

// Paths returns the paths in the order of dumps.
func (l *PathList) Paths() []Path { return l.paths }
