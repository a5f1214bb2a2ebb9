package vpptest_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
)

// initiator is a profile that initiates from the interface "lo".
func initiator() *ikev2.Profile {
	p := catalogue.IKEv2Profile("p")
	p.Responder, p.Initiate = &ikev2.Profile_Responder{Interface: "lo", Address: "192.0.2.2"}, true
	return p
}

// initiations is what the simulator has: how many requests it repeats for the profile, and how
// many SAs it has of it.
func initiations(t *testing.T, b *vpptest.Harness, when string, pending string, sas int) {
	t.Helper()
	dump := b.Sim.Dump()
	if !strings.Contains(dump, " pending "+pending+"\n") || strings.Count(dump, "ikev2 sa of p ") != sas {
		t.Errorf("%s: expected pending %s and %d SAs:\n%s", when, pending, sas, dump)
	}
}

// VPP is asked to initiate once, however often the agent reads it back, and again if the peer
// has ended the SA, or the agent was restarted before there was one.
func TestIKEv2Initiates(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, vppsim.Options{})
	b := vpptest.Start(t, target)
	peer := func(up bool) {
		t.Helper()
		if err := b.Sim.IKEv2Peer("p", up); err != nil {
			t.Fatal(err)
		}
	}
	p := initiator()
	all := of(loop("lo", "192.0.2.1/24"), p)
	b.Must(all)
	b.InSync()
	initiations(t, b, "created", "1", 0)

	b.Stop()
	b = vpptest.Start(t, target)
	b.FullResync(all)
	b.InSync()
	initiations(t, b, "restarted without an SA", "1", 0)

	peer(true)
	b.InSync()
	initiations(t, b, "the peer answers", "0", 1)
	b.Stop()
	b = vpptest.Start(t, target)
	if done := b.FullResync(all); len(done) != 0 {
		t.Errorf("restarted with an SA: %v", done)
	}
	initiations(t, b, "restarted with an SA", "0", 1)

	p = proto.CloneOf(p)
	p.Auth.Secret, p.Lifetime = "another", &ikev2.Profile_Lifetime{Seconds: 60}
	b.Must(of(p))
	b.InSync()
	initiations(t, b, "another secret", "0", 1)

	peer(false)
	b.Resync()
	b.InSync()
	initiations(t, b, "the peer has ended the SA", "1", 0)
	peer(true)
	b.InSync()

	p = proto.CloneOf(p)
	p.Responder.Address = "192.0.2.3"
	b.Must(of(p))
	initiations(t, b, "another peer", "1", 0)
	peer(true)
	waits := proto.CloneOf(p)
	waits.Initiate = false
	b.Must(of(waits))
	b.InSync()
	initiations(t, b, "waits for the peer", "0", 1)
	b.Must(of(p))
	b.InSync()
	initiations(t, b, "initiates while it has an SA", "0", 1)
	peer(false)
	b.Must(of(waits))
	initiations(t, b, "waits for the peer without an SA", "0", 0)
	b.Must(of(p))
	initiations(t, b, "initiates without an SA", "1", 0)
	b.Must(of(waits))
	initiations(t, b, "no longer waits for an answer", "0", 0)
}

// The agent sees that the peer has ended the SA, without a resync.
func TestIKEv2InitiatesAgain(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, vppsim.Options{}), vpptest.RepairLost())
	b.Must(of(loop("lo", "192.0.2.1/24"), initiator()))
	for range 2 {
		if err := b.Sim.IKEv2Peer("p", true); err != nil {
			t.Fatal(err)
		}
		b.InSync()
		b.Await("vpp/ikev2/p/state/ESTABLISHED", obtained)
		b.Want(states{"vpp/ikev2/p/state/DOWN": gone})
		asked := b.Sim.Count("ikev2_initiate_sa_init")
		if err := b.Sim.IKEv2Peer("p", false); err != nil {
			t.Fatal(err)
		}
		await(t, "another initiation", func() bool { return b.Sim.Count("ikev2_initiate_sa_init") > asked })
		b.Scheduler.TransactionBarrier()
		initiations(t, b, "the peer has ended the SA", "1", 0)
		b.Want(states{key(initiator()): configured})
		b.Await("vpp/ikev2/p/state/DOWN", obtained)
	}
}

// A tunnel that VPP cannot protect, and a port that it does not receive, are refused.
func TestIKEv2Tunnels(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		linuxCP := b.Sim != nil || strings.Contains(b.CLI("show plugins"), "linux_cp_plugin.so")
		for says, change := range map[string]func(p *ikev2.Profile){
			`tunnel_interface: "lo" is a SOFTWARE_LOOPBACK, expected`: func(p *ikev2.Profile) { p.TunnelInterface = "lo" },
			`udp_encap: false, expected true with the IPsec`:          func(p *ikev2.Profile) { p.TunnelInterface = "ipsec" },
			"udp_port: 0, expected another port, at both ends":        func(p *ikev2.Profile) { p.UdpEncap = true },
			"udp_port: 4500, expected another port, at both ends":     func(p *ikev2.Profile) { p.UdpEncap, p.UdpPort = true, 4500 },
		} {
			p := catalogue.IKEv2Profile("p")
			if change(p); p.UdpEncap && !linuxCP {
				continue
			}
			err := b.Commit(of(p, loop("lo", "192.0.2.1/24"), ipsecInterface("ipsec")))
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, expected %q", err, says)
			}
			b.Must(deleted(of(p)))
		}
	})
}

// A peer with a host name waits for name servers.
func TestIKEv2HostName(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		byName := catalogue.IKEv2ByName("p")
		p := byName[0].(*ikev2.Profile)
		p.Initiate = true
		b.Must(of(p, loop("lo", "192.0.2.1/24")))
		b.Await(key(p), pending)
		b.Must(of(byName...))
		b.Await(key(p), configured)
		b.InSync()
		other := proto.CloneOf(p)
		other.Responder.Hostname = "other.example.com"
		b.Must(of(other))
		b.InSync()
		b.Must(deleted(of(byName[1])))
		b.Await(key(p), pending)
	})
}

// Profiles with certificates wait for the private key of VPP, and become profiles with a secret
// and back.
func TestIKEv2Certificates(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		keyFile, certificate := keyAndCertificate(t)
		signs := func(file string) *ikev2.Profile {
			p := catalogue.IKEv2Profile("p")
			p.Auth = &ikev2.Profile_Auth{Method: ikev2.Profile_Auth_CERTIFICATE, CertificateFile: file}
			return p
		}
		refused := func(m proto.Message, says string) {
			t.Helper()
			if err := b.Commit(of(m)); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, expected %q", err, says)
			}
			b.Must(deleted(of(m)))
		}
		b.Must(of(signs(certificate)))
		b.Await(key(signs("")), pending)
		refused(&ikev2.Global{LocalKeyFile: certificate}, "local_key_file: VPP cannot read a private key")
		global := &ikev2.Global{LocalKeyFile: keyFile, LivenessPeriod: 5}
		b.Must(of(global))
		b.Await(key(signs("")), configured)
		b.InSync()
		refused(signs(keyFile), "auth.certificate_file: VPP cannot read a certificate")
		for range 3 {
			b.Must(of(signs(certificate)))
			b.Must(of(catalogue.IKEv2Profile("p")))
			b.InSync()
		}
		b.Must(of(signs(certificate)))
		b.Must(deleted(of(global)))
		b.Await(key(signs("")), pending)
	})
}

// keyAndCertificate makes two files.
func keyAndCertificate(t *testing.T) (keyFile, certificate string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, what string, content []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: what, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("key.pem", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private)), write("cert.pem", "CERTIFICATE", signed)
}
