package grpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc/credentials"
)

// door is a listener and what is spoken there.
type door struct {
	net.Listener
	creds credentials.TransportCredentials // nil: no TLS
}

func addresses(doors []door) string {
	var all []string
	for _, d := range doors {
		all = append(all, d.Addr().String())
	}
	return strings.Join(all, ", ")
}

// open listens where the configuration says.
func (p *Plugin) open() ([]door, error) {
	creds, err := p.cfg.credentials()
	if err != nil {
		return nil, err
	}
	ln, err := p.cfg.listen(p.Context(), p.cfg.Network, p.cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	doors := []door{{ln, creds}}
	if p.cfg.Socket == "" {
		return doors, nil
	}
	ln, err = p.cfg.listen(p.Context(), "unix", p.cfg.Socket)
	if err != nil {
		_ = doors[0].Close() // nobody has been served there
		return nil, err
	}
	return append(doors, door{ln, nil}), nil
}

func (c Config) listen(ctx context.Context, network, address string) (net.Listener, error) {
	if network == "unix" {
		if err := c.makeRoom(ctx, address); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the address is taken (set endpoint in grpc.conf, or --grpc-port): %w", address, syscall.EADDRINUSE)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if network == "unix" {
		if err := os.Chmod(address, c.Permission); err != nil {
			_ = ln.Close() // nobody has been served there
			return nil, fmt.Errorf("permission: %w", err)
		}
	}
	return ln, nil
}

// makeRoom removes a socket that an agent has left behind, but nothing else.
func (c Config) makeRoom(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket: %s exists and is no socket; remove it or choose another path", path)
	}
	if !c.ForceSocketRemoval {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			_ = conn.Close() // it was opened to see whether somebody answers
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("socket: %s is in use by another process (force-socket-removal takes it away): %w", path, syscall.EADDRINUSE)
		}
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("socket: remove what was left behind: %w", err)
	}
	return nil
}

// credentials returns nil if the server shall not speak TLS.
func (c Config) credentials() (credentials.TransportCredentials, error) {
	if c.CertFile == "" || c.InsecureTransport {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("cert-file, key-file: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if len(c.CAFiles) > 0 {
		t.ClientAuth, t.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	}
	for _, file := range c.CAFiles {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("ca-files: %w", err)
		}
		if !t.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca-files: %s: expected certificates in PEM", file)
		}
	}
	return credentials.NewTLS(t), nil
}

// warnOfStrangers logs that others than this machine can change the network, or
// read what is sent.
func (p *Plugin) warnOfStrangers(d door) {
	tcp, ok := d.Addr().(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return
	}
	switch {
	case !p.cfg.protected():
		p.Log.Warn("everybody who reaches the gRPC server can change the network", "address", tcp.String(),
			"hint", "set ca-files or tokens in grpc.conf")
	case d.creds == nil:
		p.Log.Warn("what is sent to the gRPC server, tokens included, can be read on the way", "address", tcp.String(),
			"hint", "set cert-file and key-file in grpc.conf")
	}
}
