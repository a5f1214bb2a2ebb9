package kvdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/infra/cryptodata"
)

type encryptOptions struct {
	*cmdutil.Factory
}

func newEncrypt(f *cmdutil.Factory) *cobra.Command {
	o := &encryptOptions{Factory: f}
	return &cobra.Command{
		Use: "encrypt KEYFILE [TEXT]", Short: "Encrypt a secret, or a whole value, for an agent", Args: cmdutil.Args(cobra.RangeArgs(1, 2)),
		Long: "Prints the replacement of TEXT, or of the standard input without a newline at its end, for\n" +
			"a value of the store or in a file, for one secret or for the value as a whole. KEYFILE is the public\n" +
			"key of the agent, its certificate, or its private key, in PEM; RSA. The agent decrypts with the\n" +
			"private keys of cryptodata.conf (private-key-files).",
		Example: "  agentctl kvdb keygen agent.pem\n  agentctl kvdb encrypt agent.pem.pub < password.txt",
		RunE:    o.run,
	}
}

func (o *encryptOptions) run(cmd *cobra.Command, args []string) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	key, err := cryptodata.ParsePublicKey(text)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	var plain []byte
	if len(args) == 2 {
		plain = []byte(args[1])
	} else if plain, err = io.ReadAll(cmd.InOrStdin()); err != nil {
		return fmt.Errorf("read the standard input: %w", err)
	} else {
		plain = bytes.TrimSuffix(plain, []byte("\n"))
	}
	sealed, err := cryptodata.Encrypt(key, plain)
	if err != nil {
		return err
	}
	return o.Printf("%s\n", sealed)
}

type keygenOptions struct {
	*cmdutil.Factory
}

func newKeygen(factory *cmdutil.Factory) *cobra.Command {
	o := &keygenOptions{Factory: factory}
	return &cobra.Command{
		Use: "keygen FILE", Short: "Make a key that secrets can be encrypted for", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Example: "  agentctl kvdb keygen agent.pem",
		Long: "Writes a private RSA key to FILE, which only its owner can read, and its public half to FILE.pub. FILE is\n" +
			"for the agent (private-key-files in cryptodata.conf), FILE.pub for those who encrypt.",
		RunE: o.run,
	}
}

func (o *keygenOptions) run(_ *cobra.Command, args []string) error {
	private, public, err := cryptodata.GenerateKey()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		text []byte
		mode os.FileMode
	}{{args[0], private, 0o600}, {args[0] + ".pub", public, 0o644}} {
		if err := writeNew(f.path, f.text, f.mode); err != nil {
			return err
		}
	}
	return o.Printf("%s\n%s.pub\n", args[0], args[0])
}

// writeNew writes a file that must not exist yet.
func writeNew(path string, text []byte, mode os.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
