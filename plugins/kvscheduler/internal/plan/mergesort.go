package plan

// mergeRuns sorts, stably, what consists of a few sorted runs: it merges
// neighbouring runs until there is one. A large plan is made from sorted
// changes and from what is derived from them in order, so hardly anything has
// to be compared more than once or twice. It may reuse list.
func mergeRuns[T any](list []T, less func(a, b T) bool) []T {
	ends := runs(list, less)
	if len(ends) < 2 {
		return list
	}
	from, to := list, make([]T, len(list))
	for len(ends) > 1 {
		start, merged := 0, ends[:0]
		for i := 0; i < len(ends); i += 2 {
			middle, end := ends[i], ends[i]
			if i+1 < len(ends) {
				end = ends[i+1]
			}
			merge(to[start:end], from[start:middle], from[middle:end], less)
			merged = append(merged, end)
			start = end
		}
		ends = merged
		from, to = to, from
	}
	return from
}

// runs returns the ends of the sorted runs of a list.
func runs[T any](list []T, less func(a, b T) bool) (ends []int) {
	for i := range list {
		if i+1 == len(list) || less(list[i+1], list[i]) {
			ends = append(ends, i+1)
		}
	}
	return ends
}

func merge[T any](to, a, b []T, less func(a, b T) bool) {
	for i := range to {
		if len(b) == 0 || len(a) > 0 && !less(b[0], a[0]) {
			to[i], a = a[0], a[1:]
		} else {
			to[i], b = b[0], b[1:]
		}
	}
}
