package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variantsFile is the table of operations that have several variants: the first two
// columns are written by hand, the choice of each release is computed.
const variantsFile = "variants.tsv"

const variantsHead = "# The variant of each operation that a release of VPP offers, newest first; only operations with a choice.\n"

// operation of VPP with its variants, newest first.
type operation struct {
	name     string
	variants []string
}

type variantTable struct {
	path       string
	operations []operation
}

func readVariants(path string) (*variantTable, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &variantTable{path: path}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "operation\t") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) < 2 {
			return nil, fmt.Errorf("%s:%d: expected an operation, a tab, and its variants, newest first, with | between them", path, i+1)
		}
		t.operations = append(t.operations, operation{f[0], strings.Split(f[1], "|")})
	}
	return t, nil
}

// versionMark is how the name of a message says which variant it is.
var versionMark = regexp.MustCompile(`_v([0-9]+)(_|$)`)

// numbered splits the name of a message into the name that all variants share and the
// number of the variant, which is 1 if none is written.
func numbered(name string) (shared string, number int) {
	m := versionMark.FindStringSubmatchIndex(name)
	if m == nil {
		return name, 1
	}
	number, err := strconv.Atoi(name[m[2]:m[3]])
	if err != nil {
		return name, 1
	}
	return name[:m[0]] + name[m[4]:], number
}

// extend puts messages that have the name of the newest variant and a higher number in
// front of the variants.
func (t *variantTable) extend(messages *messageTable, w io.Writer) {
	known := map[string]bool{}
	for _, v := range messages.releases {
		for name := range messages.crcs[v] {
			known[name] = true
		}
	}
	byName := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		shared, _ := numbered(name)
		byName[shared] = append(byName[shared], name)
	}
	for i := range t.operations {
		o := &t.operations[i]
		shared, number := numbered(o.variants[0])
		newer := slices.DeleteFunc(byName[shared], func(name string) bool {
			_, n := numbered(name)
			return n <= number
		})
		slices.SortFunc(newer, func(a, b string) int {
			_, na := numbered(a)
			_, nb := numbered(b)
			return nb - na
		})
		if len(newer) > 0 {
			fmt.Fprintf(w, "%s: new variants %s\n", o.name, strings.Join(newer, ", "))
			o.variants = slices.Concat(newer, o.variants)
		}
	}
}

// check reports variants that no release has.
func (t *variantTable) check(messages *messageTable) error {
	for _, o := range t.operations {
		for _, name := range o.variants {
			if !slices.ContainsFunc(messages.releases, messages.has(name)) {
				return fmt.Errorf("%s: operation %s: no release has the message %s", t.path, o.name, name)
			}
		}
	}
	return nil
}

// text is the content of the file.
func (t *variantTable) text(messages *messageTable) []byte {
	var b strings.Builder
	b.WriteString(variantsHead + "operation\tvariants")
	for _, v := range messages.releases {
		fmt.Fprintf(&b, "\t%v", v)
	}
	b.WriteByte('\n')
	for _, o := range t.operations {
		fmt.Fprintf(&b, "%s\t%s", o.name, strings.Join(o.variants, "|"))
		for _, v := range messages.releases {
			choice := "-"
			if i := slices.IndexFunc(o.variants, func(name string) bool { return messages.has(name)(v) }); i >= 0 {
				choice = o.variants[i]
			}
			b.WriteString("\t" + choice)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}
