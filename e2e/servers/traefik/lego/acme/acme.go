// Package acme has the accounts that Traefik stores.
package acme

// Account is an account.
type Account struct {
	Status  string   `json:"status,omitempty"`
	Contact []string `json:"contact,omitempty"`
}

// ExtendedAccount is an account and its address.
type ExtendedAccount struct {
	Account

	Location string `json:"accountURL,omitempty"`
}
