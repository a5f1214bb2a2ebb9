package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// messagesFile is the table of messages: name, CRC, and the first and last release that
// have it.
const messagesFile = "messages.tsv"

// newest is written for the last release of a message that the newest release has, so that
// a release changes the lines of changed messages only.
const newest = "-"

// messageTable has the CRC of each message of each release.
type messageTable struct {
	releases []binding.Version // oldest first
	crcs     map[binding.Version]map[string]string
}

// readMessages reads the table; it is empty if there is no file.
func readMessages(path string) (*messageTable, error) {
	t := &messageTable{crcs: map[binding.Version]map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if err := t.read(i, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	return t, nil
}

// read adds a line of the file; the first one has the releases.
func (t *messageTable) read(i int, line string) error {
	if i == 0 {
		_, names, _ := strings.Cut(line, ":")
		for _, name := range strings.Fields(names) {
			v, err := binding.ParseVersion(name)
			if err != nil {
				return err
			}
			t.insert(v, map[string]string{})
		}
		return nil
	}
	if strings.HasPrefix(line, "#") {
		return nil
	}
	f := strings.Split(line, "\t")
	if len(f) != 4 {
		return fmt.Errorf("%d columns, expected 4: message, CRC, first and last release", len(f))
	}
	first, last := t.index(f[2]), t.index(f[3])
	if f[3] == newest {
		last = len(t.releases) - 1
	}
	if first < 0 || last < first {
		return fmt.Errorf("%s: releases %s to %s are not in the first line in this order", f[0], f[2], f[3])
	}
	for _, v := range t.releases[first : last+1] {
		if t.crcs[v][f[0]] != "" {
			return fmt.Errorf("%s: release %v has two CRCs", f[0], v)
		}
		t.crcs[v][f[0]] = f[1]
	}
	return nil
}

func (t *messageTable) index(release string) int {
	return slices.IndexFunc(t.releases, func(v binding.Version) bool { return v.String() == release })
}

// insert adds or replaces a release and returns its place.
func (t *messageTable) insert(v binding.Version, crcs map[string]string) int {
	at, found := slices.BinarySearchFunc(t.releases, v, binding.Version.Compare)
	if !found {
		t.releases = slices.Insert(t.releases, at, v)
	}
	t.crcs[v] = crcs
	return at
}

// change is a message that a release has and the release before has not, or the other
// way round.
type change struct {
	name, file    string // file is empty for a removed message
	before, after string // CRCs
	variantOf     string // the newest message of the release before that differs in the number of its variant; empty: none
}

// changes of a release since the release before.
type changes struct {
	since                   string // empty: there is no release before
	added, removed, changed []change
}

// add puts the messages of a release into the table. Messages of VPP get a new name
// (tap_create_v3) when their fields change. A CRC that changed under the same name is an
// error, unless it is in the table already or allowed: code that uses the message would
// lose it.
func (t *messageTable) add(v binding.Version, found map[string]message, allowed []string) (changes, error) {
	known := t.crcs[v]
	crcs := make(map[string]string, len(found))
	for name, m := range found {
		crcs[name] = m.crc
	}
	at := t.insert(v, crcs)
	if at == 0 {
		return changes{}, nil
	}
	before := t.releases[at-1]
	c := compare(t.crcs[before], found)
	c.since = before.String()
	var refused []string
	var errs []error
	for _, m := range c.changed {
		if known[m.name] != m.after && !slices.Contains(allowed, m.name) {
			refused = append(refused, m.name)
			errs = append(errs, fmt.Errorf("%s: message %s: the name is the same, but the fields or their types changed: CRC %s in %v, %s in %v",
				m.file, m.name, m.before, before, m.after, v))
		}
	}
	if len(errs) > 0 {
		names := strings.Join(slices.Sorted(slices.Values(slices.Concat(allowed, refused))), ",")
		errs = append(errs, fmt.Errorf("compare the fields; to accept the change, run again with --changed %s (make: CHANGED=%s)", names, names))
	}
	return c, errors.Join(errs...)
}

// compare returns what changed, by name.
func compare(before map[string]string, after map[string]message) changes {
	var c changes
	newest := map[string]string{} // by the name without the number
	for _, name := range slices.Sorted(maps.Keys(before)) {
		shared, number := numbered(name)
		if _, highest := numbered(newest[shared]); newest[shared] == "" || number > highest {
			newest[shared] = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		m, old := after[name], before[name]
		switch {
		case old == "":
			shared, _ := numbered(name)
			c.added = append(c.added, change{name: name, file: m.file, after: m.crc, variantOf: newest[shared]})
		case old != m.crc:
			c.changed = append(c.changed, change{name: name, file: m.file, before: old, after: m.crc})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			c.removed = append(c.removed, change{name: name, before: before[name]})
		}
	}
	return c
}

// versionMark is the number of the variant in the name of a message.
var versionMark = regexp.MustCompile(`_v([0-9]+)(_|$)`)

// numbered splits the name of a message into the name that all variants share and the
// number of the variant, which is 1 if the name has none.
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

// print writes a line for the release and one for each change.
func (c changes) print(w io.Writer, release string, files, messages int) {
	fmt.Fprintf(w, "%s: %d messages in %d files", release, messages, files)
	if c.since != "" {
		fmt.Fprintf(w, "; since %s: %d added, %d removed, %d changed", c.since, len(c.added), len(c.removed), len(c.changed))
	}
	fmt.Fprintln(w)
	for _, m := range c.added {
		note := ""
		if m.variantOf != "" {
			note = ", a new variant of " + m.variantOf
		}
		fmt.Fprintf(w, "  added %s (%s)%s\n", m.name, m.file, note)
	}
	for _, m := range c.removed {
		fmt.Fprintf(w, "  removed %s\n", m.name)
	}
	for _, m := range c.changed {
		fmt.Fprintf(w, "  changed %s (%s): CRC %s, before %s\n", m.name, m.file, m.after, m.before)
	}
}

// text is the content of the file, sorted by name.
func (t *messageTable) text() []byte {
	var b strings.Builder
	b.WriteString("# VPP releases:")
	names := map[string]bool{}
	for _, v := range t.releases {
		fmt.Fprintf(&b, " %v", v)
		for name := range t.crcs[v] {
			names[name] = true
		}
	}
	b.WriteString("\n# message\tcrc\tfirst release\tlast release\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for from := 0; from < len(t.releases); {
			to, crc := from, t.crcs[t.releases[from]][name]
			for to+1 < len(t.releases) && t.crcs[t.releases[to+1]][name] == crc {
				to++
			}
			last := newest
			if to+1 < len(t.releases) {
				last = t.releases[to].String()
			}
			if crc != "" {
				fmt.Fprintf(&b, "%s\t%s\t%v\t%s\n", name, crc, t.releases[from], last)
			}
			from = to + 1
		}
	}
	return []byte(b.String())
}
