package rest

import (
	"context"
	"net"
	"time"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/listen"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// listener is a listener with or without TLS.
type listener struct {
	net.Listener
	tls bool
}

func (p *Plugin) open(ctx context.Context) (listeners []listener, err error) {
	if p.cfg.Endpoint != "" {
		ln, err := listen.TCP(ctx, "tcp", p.cfg.Endpoint, "set endpoint in http.conf, or --http-port")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener{listen.Limited(ln, p.cfg.connections()), p.TLS()})
	}
	if p.cfg.Socket == "" {
		return listeners, nil
	}
	ln, err := listen.Socket{Path: p.cfg.Socket, Mode: p.cfg.Permission, Hint: "set socket in http.conf"}.Listen(ctx)
	if err != nil {
		for _, d := range listeners {
			_ = d.Close() // no client has been served there
		}
		return nil, err
	}
	return append(listeners, listener{listen.Limited(ln, p.cfg.connections()), false}), nil
}

// connections is the maximum number of connections of each listener.
func (c Config) connections() int {
	listeners := 0
	for _, address := range []string{c.Endpoint, c.Socket} {
		if address != "" {
			listeners++
		}
	}
	return listen.MaxConnections(listen.HTTP, c.MaxConnections, listeners)
}

// certificates returns nil if the server does not use TLS.
func (p *Plugin) certificates() (*certs.Server, error) {
	if !p.TLS() {
		return nil, nil
	}
	files := certs.Files{
		Cert: p.cfg.ServerCertFile, Key: p.cfg.ServerKeyFile, ClientCAs: p.cfg.ClientCertFiles,
		Keys: certs.Keys{Pair: "server-cert-file, server-key-file", CAs: "client-cert-files"},
	}
	return certs.Load(files, certs.Options{
		Protocols: []string{"h2", "http/1.1"}, Changed: reload.Log(p.Log, "certificates of the HTTP server", p.cfg.ServerCertFile),
	})
}

// warn logs weaknesses of the configuration.
func (p *Plugin) warn(listeners []listener) {
	if p.certs != nil && !p.certs.Valid(time.Now()) {
		p.Log.Warn("the certificate of the HTTP server is not valid now, clients will reject it",
			"file", p.cfg.ServerCertFile, "until", p.certs.NotAfter())
	}
	reload.WarnOfOpen(p.Log, p.cfg.ServerKeyFile, p.cfg.TokenSignatureFile) // the agent checks the configuration file itself
	p.warnOfUnknown()
	for _, d := range listeners {
		tcp, ok := d.Addr().(*net.TCPAddr)
		switch {
		case !ok:
		case tcp.IP.IsLoopback():
			p.Log.Debug("only this machine can reach the HTTP server", "address", tcp.String(),
				"hint", "to allow others, set endpoint in http.conf, server-cert-file and server-key-file, and client-cert-files or users")
		case !p.cfg.protected():
			p.Log.Warn("any client that reaches the HTTP server can change the network", "address", tcp.String(),
				"hint", "set users or client-cert-files in http.conf")
		case !d.tls:
			p.Log.Warn("traffic to the HTTP server, including passwords, is not encrypted", "address", tcp.String(),
				"hint", "set server-cert-file and server-key-file in http.conf")
		}
	}
}
