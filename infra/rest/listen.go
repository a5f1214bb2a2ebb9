package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
)

// door is a listener and what is spoken there.
type door struct {
	net.Listener
	tls bool
}

// open listens where the configuration says.
func (p *Plugin) open(ctx context.Context) (doors []door, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, d := range doors {
			_ = d.Close() // nobody has been served there
		}
		doors = nil
	}()
	var lc net.ListenConfig
	if p.cfg.Endpoint != "" {
		ln, err := lc.Listen(ctx, "tcp", p.cfg.Endpoint)
		if err != nil {
			return doors, p.listenError(err)
		}
		doors = append(doors, door{p.cfg.bound(ln), p.cfg.ServerCertFile != ""})
	}
	if path := p.cfg.Socket; path != "" {
		if err := makeRoom(ctx, path); err != nil {
			return doors, err
		}
		ln, err := lc.Listen(ctx, "unix", path)
		if err != nil {
			return doors, fmt.Errorf("socket: %w", err)
		}
		doors = append(doors, door{p.cfg.bound(ln), false})
		if err := os.Chmod(path, p.cfg.Permission); err != nil {
			return doors, fmt.Errorf("permission: %w", err)
		}
	}
	return doors, nil
}

func (c Config) bound(ln net.Listener) net.Listener {
	if c.MaxConnections == 0 {
		return ln
	}
	return netutil.LimitListener(ln, c.MaxConnections)
}

// makeRoom removes a socket that an agent has left behind, but nothing else.
func makeRoom(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("socket: %s exists and is no socket; remove it or choose another path", path)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // it was opened to see whether somebody answers
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket: %s is in use by another process: %w", path, syscall.EADDRINUSE)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("socket: remove what was left behind: %w", err)
	}
	return nil
}

func (p *Plugin) listenError(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w", p.cfg.Endpoint, err)
	}
	by := ""
	if who := holder(p.cfg.Endpoint); who != "" {
		by = " by " + who
	}
	return fmt.Errorf("listen on %s: the address is taken%s (set endpoint in http.conf, or --http-port): %w",
		p.cfg.Endpoint, by, syscall.EADDRINUSE)
}

// tls returns nil if the server shall not speak TLS.
func (c Config) tls() (*tls.Config, error) {
	if c.ServerCertFile == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.ServerCertFile, c.ServerKeyFile)
	if err != nil {
		return nil, fmt.Errorf("server-cert-file, server-key-file: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if len(c.ClientCertFiles) == 0 {
		return t, nil
	}
	t.ClientAuth, t.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	for _, file := range c.ClientCertFiles {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("client-cert-files: %w", err)
		}
		if !t.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("client-cert-files: %s: expected certificates in PEM", file)
		}
	}
	return t, nil
}

// warn logs what makes the server less safe than its owner may think.
func (p *Plugin) warn(doors []door, t *tls.Config) {
	if t != nil {
		if leaf := t.Certificates[0].Leaf; leaf != nil && (time.Now().After(leaf.NotAfter) || time.Now().Before(leaf.NotBefore)) {
			p.Log.Warn("the certificate of the HTTP server is not valid now, clients will refuse it",
				"file", p.cfg.ServerCertFile, "from", leaf.NotBefore, "until", leaf.NotAfter)
		}
	}
	p.warnOfOpenFiles()
	p.warnOfUnknown()
	for _, d := range doors {
		tcp, ok := d.Addr().(*net.TCPAddr)
		switch {
		case !ok:
		case tcp.IP.IsLoopback():
			p.Log.Debug("only this machine reaches the HTTP server", "address", tcp.String(),
				"hint", "for others, set endpoint in http.conf, server-cert-file and server-key-file, and client-cert-files or users")
		case !p.cfg.protected():
			p.Log.Warn("everybody who reaches the HTTP server can change the network", "address", tcp.String(),
				"hint", "set users or client-cert-files in http.conf")
		case !d.tls:
			p.Log.Warn("what is sent to the HTTP server, passwords included, can be read on the way", "address", tcp.String(),
				"hint", "set server-cert-file and server-key-file in http.conf")
		}
	}
}

// warnOfOpenFiles logs files with secrets that everybody on this machine can read.
func (p *Plugin) warnOfOpenFiles() {
	files := []string{p.cfg.ServerKeyFile, p.cfg.TokenSignatureFile}
	if p.cfg.hasAccounts() || p.cfg.TokenSignature+p.cfg.SignKey != "" {
		if _, path, found, err := p.Cfg.Read(); err == nil && found {
			files = append(files, path)
		}
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o004 != 0 {
			p.Log.Warn("everybody on this machine can read a file with secrets", "file", file, "hint", "chmod o-r")
		}
	}
}
