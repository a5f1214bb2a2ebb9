package cmdutil

import (
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
)

// ReadDocument reads a file, or the standard input for "-".
func ReadDocument(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// FileFlag adds the flag -f for the file with the configuration.
func FileFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "file", "f", "", "the `file` with the configuration, in YAML or JSON (\"-\" is the standard input)")
}

// OnlyFile returns the file that is given as an argument or with -f.
func OnlyFile(flag string, args []string) (string, error) {
	if flag != "" {
		args = append(args, flag)
	}
	if len(args) != 1 {
		return "", exit.Usagef("expected one FILE (\"-\" is the standard input), got %d", len(args))
	}
	return args[0], nil
}

// ReadOnlyFile is OnlyFile with the text of the file.
func ReadOnlyFile(cmd *cobra.Command, flag string, args []string) (file string, text []byte, err error) {
	if file, err = OnlyFile(flag, args); err == nil {
		text, err = ReadDocument(cmd, file)
	}
	return file, text, err
}

// KeepHidden lets a file have hidden secrets (***), for commands that do not use them.
func KeepHidden(_ string, value proto.Message) (proto.Message, bool) { return value, true }

// WritePrivate writes a file that may contain secrets: only its owner can read it,
// even if the file existed with other permissions.
func WritePrivate(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// SeqNum parses the sequence number of a transaction.
func SeqNum(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, exit.Usagef("%q: expected the sequence number of a transaction", text)
	}
	return n, nil
}
