package document

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// fewItems are sorted by one goroutine.
const fewItems = 4096

// entries makes the entries of a store of items, sorted by key.
func entries(items []Item) []kv.Entry {
	all := make([]kv.Entry, len(items))
	size := max(fewItems, (len(items)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var runs [][]kv.Entry
	var sorters sync.WaitGroup
	for from := 0; from < len(items); from += size {
		to := min(from+size, len(items))
		run := all[from:to]
		runs = append(runs, run)
		sorters.Go(func() {
			var place kv.Location
			for i, it := range items[from:to] {
				if !place.In(it.File) {
					place = kv.At(it.File)
				}
				run[i] = kv.Entry{Key: cmp.Or(it.Written, it.Key), Value: kv.Decoded{Message: it.Value}, Location: place.Line(it.Line)}
			}
			slices.SortFunc(run, func(a, b kv.Entry) int { return strings.Compare(a.Key, b.Key) })
		})
	}
	sorters.Wait()
	for len(runs) > 1 {
		var merged [][]kv.Entry
		for pair := range slices.Chunk(runs, 2) {
			merged = append(merged, merge(pair))
		}
		runs = merged
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

// merge merges one or two sorted runs.
func merge(runs [][]kv.Entry) []kv.Entry {
	if len(runs) == 1 {
		return runs[0]
	}
	a, b := runs[0], runs[1]
	if len(a) > 0 && len(b) > 0 && a[len(a)-1].Key < b[0].Key {
		return slices.Concat(a, b)
	}
	all := make([]kv.Entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].Key < a[0].Key {
			all, b = append(all, b[0]), b[1:]
		} else {
			all, a = append(all, a[0]), a[1:]
		}
	}
	return append(append(all, a...), b...)
}
