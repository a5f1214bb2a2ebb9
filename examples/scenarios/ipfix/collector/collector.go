// collector prints the flow records that it gets as IPFIX (RFC 7011):
//
//	collector 10.30.0.1:4739
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: collector ADDRESS")
		os.Exit(1)
	}
	if err := collect(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func collect(ctx context.Context, address string) error {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, buffer := collector{templates: map[uint16][]field{}, early: map[uint16][][]byte{}}, make([]byte, 1<<16)
	for {
		n, _, err := conn.ReadFrom(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		c.message(buffer[:n])
	}
}

// Identifiers of the fields that are printed, as IANA lists them.
const (
	packets, protocol, sourcePort, source, destinationPort, destination = 2, 4, 7, 8, 11, 12

	sourceMAC = 56
)

// field is a field of a template: what it is, and how many bytes it has.
type field struct{ id, size int }

// collector has the templates by which records are read, and the records that came
// before their template.
type collector struct {
	templates map[uint16][]field
	early     map[uint16][][]byte
}

const (
	messageHeader = 16
	setHeader     = 4
	templateSet   = 2   // the ID of a set of templates
	firstData     = 256 // the lowest ID of a set of records
)

// message reads a message: sets of templates, and of records.
func (c collector) message(m []byte) {
	if len(m) < messageHeader || binary.BigEndian.Uint16(m) != 10 {
		return
	}
	for m = m[messageHeader:]; len(m) >= setHeader; {
		id, size := binary.BigEndian.Uint16(m), int(binary.BigEndian.Uint16(m[2:]))
		if size < setHeader || size > len(m) {
			return
		}
		switch set := m[setHeader:size]; {
		case id == templateSet:
			c.learn(set)
		case c.templates[id] != nil:
			print(c.templates[id], set)
		case id >= firstData:
			c.early[id] = append(c.early[id], bytes.Clone(set))
		}
		m = m[size:]
	}
}

// learn keeps the templates of a set. VPP has no fields of variable size or of
// enterprises.
func (c collector) learn(set []byte) {
	for len(set) >= 4 {
		id, n := binary.BigEndian.Uint16(set), int(binary.BigEndian.Uint16(set[2:]))
		if set = set[4:]; len(set) < 4*n {
			return
		}
		var fields []field
		for range n {
			fields = append(fields, field{int(binary.BigEndian.Uint16(set)), int(binary.BigEndian.Uint16(set[2:]))})
			set = set[4:]
		}
		c.templates[id] = fields
		for _, records := range c.early[id] {
			print(fields, records)
		}
		delete(c.early, id)
	}
}

// print prints the records of a set.
func print(template []field, set []byte) {
	size := 0
	for _, f := range template {
		size += f.size
	}
	for ; size > 0 && len(set) >= size; set = set[size:] {
		values, rest := map[int][]byte{}, set
		for _, f := range template {
			values[f.id], rest = rest[:f.size], rest[f.size:]
		}
		fmt.Printf("protocol %d from %s port %d to %s port %d: %d packets", number(values[protocol]),
			net.IP(values[source]), number(values[sourcePort]), net.IP(values[destination]), number(values[destinationPort]), number(values[packets]))
		if mac := values[sourceMAC]; mac != nil {
			fmt.Printf(", sent by %s", net.HardwareAddr(mac))
		}
		fmt.Println()
	}
}

// number is the value of a field.
func number(field []byte) (n uint64) {
	for _, b := range field {
		n = n<<8 | uint64(b)
	}
	return n
}
