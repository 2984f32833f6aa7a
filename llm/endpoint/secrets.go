package endpoint

import (
	"net/url"

	"batch.example/batch/internal/mask"
)

// newMasker returns a masker for the secrets of a config: every header may be one, and so may every part of
// the address that identifies the user.
func newMasker(cfg Config, base *url.URL, headers map[string]string) *mask.Masker {
	secrets := []mask.Secret{{Name: "APIKey", Value: cfg.APIKey}, {Name: "BaseURL", Value: base.User.Username()}}
	secrets = append(secrets, mask.InURL("BaseURL", cfg.BaseURL)...)
	for _, values := range base.Query() {
		for _, v := range values {
			secrets = append(secrets, mask.Secret{Name: "BaseURL", Value: v})
		}
	}
	for _, value := range headers {
		secrets = append(secrets, mask.Of("Authorization", value)...)
	}
	return mask.New(secrets...)
}
