// Package login has the commands that get and revoke tokens.
package login

import (
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

type options struct {
	*cmdutil.Factory
}

// New returns the command "login".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	return cmdutil.OnTargets(f.Formatted(&cobra.Command{
		Use: "login", Short: "Print a token to use instead of user and password",
		Long: "Prints a token for the user of --http-basic-auth. It gives access to the agent as\n" +
			"that user, until it expires (token-expiration in the agent's http.conf) or logout.",
		Example: "  export AGENTCTL_HTTP_TOKEN=$(agentctl --http-basic-auth me:secret login)",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    o.run,
	}), cmdutil.OneTarget)
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	if o.Flags.HTTPBasicAuth == "" {
		return exit.Usagef("--http-basic-auth: expected the user and the password to log in with")
	}
	token, err := o.Client.Auth.Login(cmd.Context())
	if err != nil {
		return explainLogin(err)
	}
	return output.Show(o.Printer, token, func(t client.Token) error { return o.Printf("%s\n", t.Token) })
}

type logoutOptions struct {
	*cmdutil.Factory
}

// NewLogout returns the command "logout".
func NewLogout(f *cmdutil.Factory) *cobra.Command {
	o := &logoutOptions{Factory: f}
	return cmdutil.OnTargets(&cobra.Command{
		Use: "logout", Short: "Revoke the token of --http-token", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl logout",
		RunE:    o.run,
	}, cmdutil.OneTarget)
}

func (o *logoutOptions) run(cmd *cobra.Command, _ []string) error {
	if o.Flags.HTTPToken == "" {
		return exit.Usagef("--http-token: missing argument: the token to revoke")
	}
	if err := o.Client.Auth.Logout(cmd.Context()); err != nil {
		return explainLogin(err)
	}
	return o.Printf("OK\n")
}

// explainLogin explains "no endpoint" of an agent whose tokens are disabled.
func explainLogin(err error) error {
	if cmdutil.NotServed(err) || client.HasStatus(err, http.StatusMethodNotAllowed) {
		return errors.New("the agent has no tokens (enable-token-auth in its http.conf)")
	}
	return err
}
