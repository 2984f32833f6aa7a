package endpoint

import (
	"net/url"

	"batch.example/batch/internal/mask"
)

// newMasker returns what hides the secrets of a config in texts that people
// read: here every header may be one, and all that an address says of the asker.
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
