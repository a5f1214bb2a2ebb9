package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/descriptor"
)

// device is the southbound of this example; it prints its operations.
type device struct {
	out io.Writer

	mu    sync.Mutex
	items map[uint32]descriptor.Record
	next  uint32
}

func newDevice(out io.Writer) *device {
	return &device{out: out, items: map[uint32]descriptor.Record{}, next: 1}
}

func (d *device) say(format string, args ...any) { fmt.Fprintf(d.out, "device: "+format+"\n", args...) }

// AddItem implements descriptor.Device.
func (d *device) AddItem(name string, size uint32) (uint32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	index := d.next
	d.next++
	d.items[index] = descriptor.Record{Index: index, Name: name, Size: size}
	d.say("add %s of size %d as number %d", name, size, index)
	return index, nil
}

// ResizeItem implements descriptor.Device.
func (d *device) ResizeItem(index, size uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.items[index]
	if !ok {
		return descriptor.ErrNoItem
	}
	r.Size = size
	d.items[index] = r
	d.say("resize number %d to %d", index, size)
	return nil
}

// DeleteItem implements descriptor.Device.
func (d *device) DeleteItem(index uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.items[index]; !ok {
		return descriptor.ErrNoItem
	}
	delete(d.items, index)
	d.say("delete number %d", index)
	return nil
}

// ListItems implements descriptor.Device.
func (d *device) ListItems() ([]descriptor.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	byIndex := func(a, b descriptor.Record) int { return int(a.Index) - int(b.Index) }
	return slices.SortedFunc(maps.Values(d.items), byIndex), nil
}
