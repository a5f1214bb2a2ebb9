package cli

import (
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) loginCommand() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "login", Short: "Print a token to use instead of user and password",
		Long: "Prints a token for the user of --http-basic-auth. It gives access to the agent as\n" +
			"that user, until it expires (token-expiration in the agent's http.conf) or logout.",
		Example: "  export AGENTCTL_HTTP_TOKEN=$(agentctl --http-basic-auth me:secret login)",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.global.basicAuth == "" {
				return usage("--http-basic-auth: expected the user and the password to log in with")
			}
			token, err := a.client.Login(cmd.Context())
			if err != nil {
				return explainLogin(err)
			}
			return show(a, token, func(t client.Token) error { return a.printf("%s\n", t.Token) })
		},
	})
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Revoke the token of --http-token", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.global.httpToken == "" {
				return usage("--http-token: missing argument: the token to revoke")
			}
			if err := a.client.Logout(cmd.Context()); err != nil {
				return explainLogin(err)
			}
			return a.printf("OK\n")
		},
	}
}

// explainLogin explains "no endpoint" of an agent whose tokens are disabled.
func explainLogin(err error) error {
	if notServed(err) || client.HasStatus(err, http.StatusMethodNotAllowed) {
		return errors.New("the agent has no tokens (enable-token-auth in its http.conf)")
	}
	return err
}
