package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/rest/internal/access"
)

// ShowSecretsParameter is the query parameter that requests values with their
// secrets, such as the keys of tunnels. Without it they are hidden.
const ShowSecretsParameter = "show-secrets"

// ShowSecrets reports whether a request asks for values with their secrets. If
// the server knows users, it has rejected such requests of users without the
// permission "secrets" or "all".
func ShowSecrets(r *http.Request) bool {
	values, given := r.URL.Query()[ShowSecretsParameter]
	return given && slices.ContainsFunc(values, func(v string) bool {
		show, err := strconv.ParseBool(v)
		return show || err != nil // "?show-secrets" alone, too
	})
}

// allow reports whether a user with the permissions may make the request.
func (g *guard) allow(permissions []string, r *http.Request) bool {
	return g.groups.Allow(permissions, r) && (!ShowSecrets(r) || maySeeSecrets(permissions))
}

func maySeeSecrets(permissions []string) bool {
	return slices.Contains(permissions, access.Secrets) || slices.Contains(permissions, access.Everything)
}

// errSecrets is the error of a user who may make the request, but not see
// secrets.
func errSecrets(user string) error {
	return fmt.Errorf("user %q may not see secrets (%s): that needs the permission %q (users[].permissions in http.conf)",
		user, ShowSecretsParameter, access.Secrets)
}
