package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/without_metadata/skeleton/descriptor"
)

// device is the southbound of this example; it prints its operations.
type device struct {
	out io.Writer

	mu    sync.Mutex
	items map[string]uint32
}

func newDevice(out io.Writer) *device { return &device{out: out, items: map[string]uint32{}} }

func (d *device) say(format string, args ...any) { fmt.Fprintf(d.out, "device: "+format+"\n", args...) }

// AddItem implements descriptor.Device.
func (d *device) AddItem(name string, size uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.items[name]; ok {
		return fmt.Errorf("item %s exists already", name)
	}
	d.items[name] = size
	d.say("add %s of size %d", name, size)
	return nil
}

// DeleteItem implements descriptor.Device.
func (d *device) DeleteItem(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.items[name]; !ok {
		return descriptor.ErrNoItem
	}
	delete(d.items, name)
	d.say("delete %s", name)
	return nil
}

// ListItems implements descriptor.Device.
func (d *device) ListItems() ([]descriptor.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var records []descriptor.Record
	for _, name := range slices.Sorted(maps.Keys(d.items)) {
		records = append(records, descriptor.Record{Name: name, Size: d.items[name]})
	}
	return records, nil
}
