package grpc

import (
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/listen"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// listener is a listener with its transport credentials.
type listener struct {
	*connections
	creds credentials.TransportCredentials // nil: no TLS
}

func addresses(listeners []listener) string {
	var all []string
	for _, d := range listeners {
		all = append(all, d.Addr().String())
	}
	return strings.Join(all, ", ")
}

func (p *Plugin) open() ([]listener, error) {
	creds, err := p.credentials()
	if err != nil {
		return nil, err
	}
	ln, err := p.listen(p.cfg.Network, p.cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	listeners := []listener{{newConnections(ln), creds}}
	if p.cfg.Socket == "" {
		return listeners, nil
	}
	ln, err = p.listen("unix", p.cfg.Socket)
	if err != nil {
		_ = listeners[0].Close() // no client has been served there
		return nil, err
	}
	return append(listeners, listener{newConnections(ln), nil}), nil
}

func (p *Plugin) listen(network, address string) (ln net.Listener, err error) {
	if network == "unix" {
		ln, err = listen.Socket{
			Path: address, Mode: p.cfg.Permission, Force: p.cfg.ForceSocketRemoval,
			Hint: "force-socket-removal removes it",
		}.Listen(p.Context())
	} else {
		ln, err = listen.TCP(p.Context(), network, address, "set endpoint in grpc.conf, or --grpc-port")
	}
	if err != nil {
		return nil, err
	}
	listeners := 1
	if p.cfg.Socket != "" {
		listeners = 2
	}
	return listen.Limited(ln, listen.MaxConnections(listen.GRPC, p.cfg.MaxConnections, listeners)), nil
}

// credentials returns nil if the server does not use TLS.
func (p *Plugin) credentials() (credentials.TransportCredentials, error) {
	if !p.TLS() {
		return nil, nil
	}
	files := certs.Files{
		Cert: p.cfg.CertFile, Key: p.cfg.KeyFile, ClientCAs: p.cfg.CAFiles,
		Keys: certs.Keys{Pair: "cert-file, key-file", CAs: "ca-files"},
	}
	server, err := certs.Load(files, certs.Options{
		Protocols: []string{"h2"}, Changed: reload.Log(p.Log, "certificates of the gRPC server", p.cfg.CertFile),
	})
	if err != nil {
		return nil, err
	}
	if !server.Valid(time.Now()) {
		p.Log.Warn("the certificate of the gRPC server is not valid now, clients will reject it",
			"file", p.cfg.CertFile, "until", server.NotAfter())
	}
	return credentials.NewTLS(server.Config()), nil
}

// warnOfExposure logs a warning if clients on other machines can change the
// network, or if traffic can be read.
func (p *Plugin) warnOfExposure(d listener) {
	tcp, ok := d.Addr().(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return
	}
	switch {
	case !p.cfg.protected():
		p.Log.Warn("any client that reaches the gRPC server can change the network", "address", tcp.String(),
			"hint", "set ca-files, tokens or users in grpc.conf")
	case d.creds == nil:
		p.Log.Warn("traffic to the gRPC server, including tokens, is not encrypted", "address", tcp.String(),
			"hint", "set cert-file and key-file in grpc.conf")
	}
}
