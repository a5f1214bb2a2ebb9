package statseg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
)

// Kind is the type of an entry.
type Kind uint32

// The kinds of entries that can be read here.
const (
	Scalar   Kind = 1 // a value
	Simple   Kind = 2 // per thread a vector of counters
	Combined Kind = 3 // per thread a vector of packets and bytes
	Names    Kind = 4 // a vector of texts
	Empty    Kind = 5 // nothing: the entry was removed
	Symlink  Kind = 6 // an element of another entry, in all threads
	Gauge    Kind = 9 // a value, since VPP 26.02
)

// Count is a counter of packets and of their bytes.
type Count struct{ Packets, Bytes uint64 }

// Directory is the list of what the segment contains. It is valid within the
// function that Read calls.
type Directory struct {
	segment *Segment
	base    uint64
	budget  uint64 // bytes that may still be read
	entries []Entry
	byName  map[string]int
	simple  map[int][][]uint64 // what was read, by entry
}

// Entry is a line of the directory.
type Entry struct {
	Name  string
	Kind  Kind
	value uint64
}

// Element is the element of another entry that a symlink stands for; 0 for others.
func (e Entry) Element() uint32 {
	if e.Kind != Symlink {
		return 0
	}
	return uint32(e.value >> 32)
}

func newDirectory(s *Segment, h header) (*Directory, error) {
	// No honest segment makes us read more than there is: vectors do not
	// overlap, and none is read twice.
	d := &Directory{segment: s, base: h.base, budget: s.size, byName: map[string]int{}, simple: map[int][][]uint64{}}
	raw, err := d.vector(h.directory, entrySize)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	d.entries = make([]Entry, 0, len(raw)/entrySize)
	for ; len(raw) > 0; raw = raw[entrySize:] {
		e := Entry{
			Kind: Kind(binary.NativeEndian.Uint32(raw)), value: binary.NativeEndian.Uint64(raw[8:]),
			Name: text(raw[16 : 16+nameSize]),
		}
		if e.Name != "" && e.Kind != Empty {
			d.byName[e.Name] = len(d.entries)
		}
		d.entries = append(d.entries, e)
	}
	return d, nil
}

// All returns the entries in the order of the directory, without removed ones.
// No name comes twice.
func (d *Directory) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for n, e := range d.entries {
			if known, ok := d.byName[e.Name]; ok && known == n && !yield(e) {
				return
			}
		}
	}
}

// find returns an entry by name; ok is false if there is none with data.
func (d *Directory) find(name string, kinds ...Kind) (n int, ok bool, err error) {
	n, ok = d.byName[name]
	if !ok {
		return 0, false, nil
	}
	e := d.entries[n]
	for _, k := range kinds {
		if e.Kind == k {
			return n, e.value != 0 || k == Scalar || k == Gauge, nil
		}
	}
	return 0, false, fmt.Errorf("%s: type %d, expected %v", name, e.Kind, kinds)
}

// Scalar returns a value; ok is false if there is no such entry.
func (d *Directory) Scalar(name string) (v uint64, ok bool, err error) {
	n, ok, err := d.find(name, Scalar, Gauge)
	if !ok || err != nil {
		return 0, false, err
	}
	return d.entries[n].value, true, nil
}

// Simple returns counters by thread and index; nil if there is no such entry.
func (d *Directory) Simple(name string) ([][]uint64, error) {
	n, ok, err := d.find(name, Simple)
	if !ok || err != nil {
		return nil, err
	}
	return d.simpleAt(n)
}

func (d *Directory) simpleAt(n int) ([][]uint64, error) {
	if known, ok := d.simple[n]; ok {
		return known, nil
	}
	var threads [][]uint64
	err := d.each(d.entries[n].value, 8, func(raw []byte) {
		values := make([]uint64, len(raw)/8)
		for i := range values {
			values[i] = binary.NativeEndian.Uint64(raw[i*8:])
		}
		threads = append(threads, values)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.entries[n].Name, err)
	}
	d.simple[n] = threads
	return threads, nil
}

// Combined returns counters by thread and index; nil if there is no such entry.
func (d *Directory) Combined(name string) ([][]Count, error) {
	n, ok, err := d.find(name, Combined)
	if !ok || err != nil {
		return nil, err
	}
	var threads [][]Count
	err = d.each(d.entries[n].value, 16, func(raw []byte) {
		values := make([]Count, len(raw)/16)
		for i := range values {
			values[i] = Count{binary.NativeEndian.Uint64(raw[i*16:]), binary.NativeEndian.Uint64(raw[i*16+8:])}
		}
		threads = append(threads, values)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return threads, nil
}

// Names returns texts by index, empty where there is none; nil if there is no
// such entry.
func (d *Directory) Names(name string) ([]string, error) {
	n, ok, err := d.find(name, Names)
	if !ok || err != nil {
		return nil, err
	}
	var names []string
	if err := d.each(d.entries[n].value, 1, func(raw []byte) { names = append(names, text(raw)) }); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return names, nil
}

// Sum returns what a simple counter is over all threads. The entry is a symlink
// to one, as those under /err are.
func (d *Directory) Sum(e Entry) (uint64, error) {
	target, element := int(uint32(e.value)), int(e.Element())
	if e.Kind != Symlink || target >= len(d.entries) || d.entries[target].Kind != Simple {
		return 0, fmt.Errorf("%s: expected a symlink to simple counters: %w", e.Name, errDamaged)
	}
	if d.entries[target].value == 0 {
		return 0, nil
	}
	threads, err := d.simpleAt(target)
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, values := range threads {
		if element < len(values) {
			sum += values[element]
		}
	}
	return sum, nil
}

// each calls f with the content of every vector in a vector of pointers; nil
// stands for a null pointer.
func (d *Directory) each(pointer, elem uint64, f func([]byte)) error {
	pointers, err := d.vector(pointer, 8)
	if err != nil {
		return err
	}
	for ; len(pointers) > 0; pointers = pointers[8:] {
		var raw []byte
		if p := binary.NativeEndian.Uint64(pointers); p != 0 {
			if raw, err = d.vector(p, elem); err != nil {
				return err
			}
		}
		f(raw)
	}
	return nil
}

// vector reads a vector of VPP: 8 bytes before what the pointer points to there
// is the number of its elements.
func (d *Directory) vector(pointer, elem uint64) ([]byte, error) {
	at := pointer - d.base
	if pointer < d.base || at < headerSize+8 || at > d.segment.size {
		return nil, fmt.Errorf("%w: pointer %#x is not in the segment", errDamaged, pointer)
	}
	var length [8]byte
	if _, err := d.segment.file.ReadAt(length[:], int64(at-8)); err != nil {
		return nil, fmt.Errorf("length of a vector: %w", err)
	}
	size := uint64(binary.NativeEndian.Uint32(length[:])) * elem
	if size > d.segment.size-at || size > d.budget {
		return nil, fmt.Errorf("%w: %d bytes at %#x are more than there are", errDamaged, size, at)
	}
	d.budget -= size
	data := make([]byte, size)
	if _, err := d.segment.file.ReadAt(data, int64(at)); err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	return data, nil
}

// text is what stands before the first NUL, made valid UTF-8.
func text(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return strings.ToValidUTF8(string(b), "?")
}
