package grpc

import (
	"net"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc/credentials"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/listen"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// door is a listener and what is spoken there.
type door struct {
	*connections
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
	creds, err := p.credentials()
	if err != nil {
		return nil, err
	}
	ln, err := p.listen(p.cfg.Network, p.cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	doors := []door{{newConnections(ln), creds}}
	if p.cfg.Socket == "" {
		return doors, nil
	}
	ln, err = p.listen("unix", p.cfg.Socket)
	if err != nil {
		_ = doors[0].Close() // nobody has been served there
		return nil, err
	}
	return append(doors, door{newConnections(ln), nil}), nil
}

func (p *Plugin) listen(network, address string) (ln net.Listener, err error) {
	if network == "unix" {
		ln, err = listen.Socket{
			Path: address, Mode: p.cfg.Permission, Force: p.cfg.ForceSocketRemoval,
			Hint: "force-socket-removal takes it away",
		}.Listen(p.Context())
	} else {
		ln, err = listen.TCP(p.Context(), network, address, "set endpoint in grpc.conf, or --grpc-port")
	}
	if err == nil && p.cfg.MaxConnections > 0 {
		ln = netutil.LimitListener(ln, p.cfg.MaxConnections)
	}
	return ln, err
}

// credentials returns nil if the server shall not speak TLS.
func (p *Plugin) credentials() (credentials.TransportCredentials, error) {
	if p.cfg.CertFile == "" || p.cfg.InsecureTransport {
		return nil, nil
	}
	files := certs.Files{
		Cert: p.cfg.CertFile, Key: p.cfg.KeyFile, ClientCAs: p.cfg.CAFiles,
		Keys: certs.Keys{Pair: "cert-file, key-file", ClientCAs: "ca-files"},
	}
	server, err := certs.Load(files, certs.Options{Protocols: []string{"h2"}, Changed: func(err error) {
		if err != nil {
			p.Log.Warn("the certificates of the gRPC server have changed and cannot be used; those from before stay", "error", err)
			return
		}
		p.Log.Info("the certificates of the gRPC server were read again", "file", p.cfg.CertFile)
	}})
	if err != nil {
		return nil, err
	}
	if !server.Valid(time.Now()) {
		p.Log.Warn("the certificate of the gRPC server is not valid now, clients will refuse it",
			"file", p.cfg.CertFile, "until", server.NotAfter())
	}
	return credentials.NewTLS(server.Config()), nil
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
			"hint", "set ca-files, tokens or users in grpc.conf")
	case d.creds == nil:
		p.Log.Warn("what is sent to the gRPC server, tokens included, can be read on the way", "address", tcp.String(),
			"hint", "set cert-file and key-file in grpc.conf")
	}
}

// warnOfOpenFiles logs files with secrets that everybody on this machine can read,
// besides the configuration file, which the agent looks at.
func (p *Plugin) warnOfOpenFiles() {
	files := []string{p.cfg.KeyFile, p.cfg.TokensFile}
	for _, file := range reload.WorldReadable(files...) {
		p.Log.Warn("everybody on this machine can read a file with secrets", "file", file, "hint", "chmod o-r")
	}
}
