package descriptor

import (
	"math"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/vppcalls"
)

// rank gives the lists that are not expected the order in which VPP looks at them: 0 if that is
// the order of their names, otherwise numbers from 0 on. Where interfaces have lists in contrary
// orders, some have no order that is right for all.
func rank(all map[ListID]*found, applied []vppcalls.Applied) {
	after := map[*found]map[*found]bool{} // which lists are looked at before a list
	var lists []*found
	byName := true
	for _, a := range applied {
		for _, indexes := range [][]uint32{a.Ingress, a.Egress} {
			var before []*found
			for _, index := range indexes {
				f := all[ListID{index, false}]
				if f == nil || f.want != nil || slices.Contains(before, f) {
					continue
				}
				if after[f] == nil {
					after[f], lists = map[*found]bool{}, append(lists, f)
				}
				for _, b := range before {
					after[f][b] = true
					byName = byName && b.Name < f.Name
				}
				before = append(before, f)
			}
		}
	}
	for n := int32(0); !byName && len(lists) > 0; n++ {
		next := firstOf(lists, after)
		lists[next].rank = n
		for _, b := range lists {
			lists[next].contrary = lists[next].contrary || after[lists[next]][b]
		}
		lists = slices.Delete(lists, next, next+1)
	}
}

// firstOf returns the list with the fewest others among lists before it; none, unless their
// orders are contrary.
func firstOf(lists []*found, after map[*found]map[*found]bool) (first int) {
	fewest := math.MaxInt
	for i, f := range lists {
		count := 0
		for _, b := range lists {
			if after[f][b] {
				count++
			}
		}
		if count < fewest {
			first, fewest = i, count
		}
	}
	return first
}
