package fields

import (
	"slices"
	"sort"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// aligner numbers the elements of lists of messages, so that elements which belong together have
// the same number before and afterwards, in the order of both lists. See Fields.numbers.
type aligner struct{ before, after map[string][]int }

func (a aligner) messages(path place, before, after protoreflect.Message) {
	before.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path.field(string(fd.Name()))
		switch {
		case fd.Message() == nil || fd.IsMap() || !after.Has(fd):
		case fd.IsList():
			a.lists(at, v.List(), after.Get(fd).List())
		default:
			a.messages(at, v.Message(), after.Get(fd).Message())
		}
		return true
	})
}

func (a aligner) lists(path place, before, after protoreflect.List) {
	old, now := texts(before), texts(after)
	numbersOld, numbersNow := make([]int, len(old)), make([]int, len(now))
	i, j, number := 0, 0, 0
	for _, same := range append(common(old, now), [2]int{len(old), len(now)}) {
		for ; i < same[0] || j < same[1]; number++ {
			if i < same[0] && j < same[1] { // one that has changed
				a.messages(path.element(number, j), before.Get(i).Message(), after.Get(j).Message())
			}
			if i < same[0] {
				numbersOld[i] = number
				i++
			}
			if j < same[1] {
				numbersNow[j] = number
				j++
			}
		}
		if i < len(old) && j < len(now) {
			numbersOld[i], numbersNow[j] = number, number
			i, j, number = i+1, j+1, number+1
		}
	}
	a.before[path.key], a.after[path.key] = numbersOld, numbersNow
}

// texts returns the elements of a list of messages in a form that can be compared.
func texts(list protoreflect.List) []string {
	out := make([]string, list.Len())
	for i := range out {
		// In an error case the text has only a part of the message, which is enough to compare.
		text, _ := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(list.Get(i).Message().Interface())
		out[i] = string(text)
	}
	return out
}

// common returns the indices of equal elements in two lists, in the order of both: the elements at
// the beginning and at the end, and between them those that occur once in each list (patience
// diff). It takes n log n steps.
func common(old, now []string) (pairs [][2]int) {
	first := 0
	for first < min(len(old), len(now)) && old[first] == now[first] {
		pairs = append(pairs, [2]int{first, first})
		first++
	}
	last := 0
	for last < min(len(old), len(now))-first && old[len(old)-1-last] == now[len(now)-1-last] {
		last++
	}
	pairs = append(pairs, unique(old, now, first, last)...)
	for i := last; i > 0; i-- {
		pairs = append(pairs, [2]int{len(old) - i, len(now) - i})
	}
	return pairs
}

// unique returns the longest sequence of pairs of equal elements that occur once in each list
// without its first and last elements.
func unique(old, now []string, first, last int) [][2]int {
	type place struct{ old, now, olds, nows int }
	at := map[string]*place{}
	get := func(text string) *place {
		if at[text] == nil {
			at[text] = &place{}
		}
		return at[text]
	}
	for i := first; i < len(old)-last; i++ {
		p := get(old[i])
		p.old, p.olds = i, p.olds+1
	}
	for j := first; j < len(now)-last; j++ {
		p := get(now[j])
		p.now, p.nows = j, p.nows+1
	}
	var pairs [][2]int
	for i := first; i < len(old)-last; i++ {
		if p := at[old[i]]; p.olds == 1 && p.nows == 1 {
			pairs = append(pairs, [2]int{i, p.now})
		}
	}
	return increasing(pairs)
}

// increasing returns the longest part of pairs, sorted by their first number, whose second numbers
// increase.
func increasing(pairs [][2]int) [][2]int {
	before := make([]int, len(pairs)) // index of the pair before in the longest sequence that ends here; -1: none
	var ends []int                    // index of the pair with the smallest end, by length of the sequence - 1
	for i, p := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]][1] >= p[1] })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var out [][2]int
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		out = append(out, pairs[i])
	}
	slices.Reverse(out)
	return out
}
