package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// programs are those of the image.
var programs = []string{"vpp-agent", "vpp-agent-init", "tenuto-controller", "agentctl"}

// machines are the architectures as programs name them.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// layer has all files of the image.
func (s settings) layer(arch string) (v1.Layer, error) {
	var text bytes.Buffer
	w := &writer{tar.NewWriter(&text), s}
	for _, dir := range []struct {
		name string
		mode int64
	}{
		{"etc", 0o755}, {"etc/ssl", 0o755}, {"etc/ssl/certs", 0o755}, {"etc/vpp-agent", 0o755}, {"run", 0o755}, {"run/netns", 0o755},
		{"run/vpp", 0o755}, {"run/vpp-agent", 0o755}, {"tmp", 0o1777}, {"usr", 0o755}, {"usr/bin", 0o755}, {"usr/share", 0o755},
		{"usr/share/doc", 0o755}, {"usr/share/doc/vpp-agent", 0o755}, {"var", 0o755}, {"var/lib", 0o755}, {"var/lib/vpp-agent", 0o700},
	} {
		if err := w.dir(dir.name, dir.mode); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		w.file("etc/group", 0o644, []byte("root:x:0:\n")),
		w.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\n")),
		w.file("etc/ssl/certs/ca-certificates.crt", 0o644, authorities()),
		w.copy("usr/share/doc/vpp-agent/LICENSE", 0o644, s.license),
	); err != nil {
		return nil, err
	}
	for _, program := range programs {
		from := filepath.Join(s.programs, arch, program)
		if err := errors.Join(checkProgram(from, machines[arch]), w.copy("usr/bin/"+program, 0o755, from)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// authorities are the certificates of the authorities that Mozilla trusts, for stores
// and collectors with TLS.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer takes all
	}
	return all.Bytes()
}

// checkProgram makes sure that a program runs on a machine without libraries.
func checkProgram(file string, machine elf.Machine) error {
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	if f.Machine != machine {
		return fmt.Errorf("%s: it is for %v, expected %v", file, f.Machine, machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s: it needs shared libraries; build it with CGO_ENABLED=0", file)
		}
	}
	return nil
}

// writer writes an archive whose bytes depend on the names and contents alone.
type writer struct {
	*tar.Writer
	settings
}

func (w *writer) header(h tar.Header) error {
	h.ModTime, h.Format = w.created, tar.FormatUSTAR
	return w.WriteHeader(&h)
}

func (w *writer) dir(name string, mode int64) error {
	return w.header(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
}

func (w *writer) file(name string, mode int64, content []byte) error {
	if err := w.header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

func (w *writer) copy(name string, mode int64, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return w.file(name, mode, content)
}

// archive writes a directory as one file, which appears when it is complete.
func (s settings) archive(dir string) error {
	out, err := os.CreateTemp(filepath.Dir(s.out), ".image-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	w := &writer{tar.NewWriter(out), s}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // in the order of names
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return w.dir(name, 0o755)
		}
		return w.copy(name, 0o644, path)
	})
	if err := errors.Join(err, w.Close(), out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), s.out)
}
