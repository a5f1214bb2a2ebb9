// echo gets packets from VPP on a Unix socket and sends them back to where they came
// from, through the socket of VPP:
//
//	echo /tmp/echo.sock
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
)

// A packet begins with 8 bytes from VPP: the index of the interface, and an action.
// When VPP hands out a packet, its Ethernet header follows; when VPP is given one,
// with the action to route IPv4, it begins with the IP header.
const (
	metadata    = 8
	ethernet    = 14
	ipv4        = 20 // without options
	udp         = 8
	routeIPv4   = 1
	maxPacket   = 9000
	interfaceID = 0 // of the packets that VPP is given: any
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: echo SOCKET")
		os.Exit(1)
	}
	if err := serve(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, path string) error {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer os.Remove(path)
	buffer := make([]byte, maxPacket)
	for {
		n, vpp, err := conn.ReadFromUnix(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := turn(buffer[:n])
		if err == nil {
			_, err = conn.WriteToUnix(answer, vpp)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// turn returns the answer to a packet: the same with source and destination exchanged.
// This changes no checksum.
func turn(packet []byte) ([]byte, error) {
	if len(packet) < metadata+ethernet+ipv4+udp {
		return nil, errors.New("a packet is too short")
	}
	answer := binary.NativeEndian.AppendUint32(nil, interfaceID)
	answer = binary.NativeEndian.AppendUint32(answer, routeIPv4)
	answer = append(answer, packet[metadata+ethernet:]...)
	ip := answer[metadata:]
	fmt.Printf("%d bytes from %v: %s\n", len(ip), net.IP(ip[12:16]), ip[ipv4+udp:])
	swap(ip[12:16], ip[16:20])
	swap(ip[ipv4:ipv4+2], ip[ipv4+2:ipv4+4])
	return answer, nil
}

func swap(a, b []byte) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}
