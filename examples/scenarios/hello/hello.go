// hello is a small TCP server that says who answered and who asked, and its
// client:
//
//	hello listen :80 red
//	hello ask 10.10.0.1:80
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"time"
)

// patience limits how long a connection may take. A packet that was lost is sent
// again within this time.
const patience = 3 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "listen":
		err = listen(ctx, args[1], args[2])
	case len(args) == 2 && args[0] == "ask":
		err = ask(ctx, args[1])
	default:
		err = errors.New("usage: hello listen ADDRESS NAME | hello ask ADDRESS")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listen answers every connection with one line.
func listen(ctx context.Context, address, name string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err == nil {
			_, err = fmt.Fprintf(conn, "hello from %s to %s\n", name, host)
		}
		if err := errors.Join(err, conn.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// ask prints the answer of a server.
func ask(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	return err
}
