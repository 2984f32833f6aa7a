package gemini

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm/endpoint"
)

// newRequest returns the request of a call, without a body. It does not use Google's SDK, whose client reads
// keys from the environment, and writes to the standard log if it finds several.
func newRequest(at *endpoint.Endpoint) (*http.Request, error) {
	u, err := url.Parse(at.Address)
	if err != nil {
		return nil, err
	}
	clean := strings.TrimRight(u.Path, "/")
	version := path.Base(clean) // the version may be left out
	if versions().MatchString(version) {
		clean = strings.TrimSuffix(clean, "/"+version)
	} else {
		version = "v1beta"
	}
	name := at.Model
	if !strings.Contains(name, "/") { // tunedModels/NAME
		name = "models/" + name
	}
	method := ":generateContent"
	if at.Stream {
		method = ":streamGenerateContent"
		query := u.Query()
		query.Set("alt", "sse")
		u.RawQuery = query.Encode()
	}
	u.Path, u.RawPath = clean+"/"+version+"/"+name+method, ""
	r, err := http.NewRequest(http.MethodPost, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if at.APIKey != "" {
		r.Header.Set("X-Goog-Api-Key", at.APIKey)
	}
	for name, value := range at.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// versions are the last elements of an address that name the API's version.
var versions = lazy.Regexp(`^v[0-9]+((alpha|beta)[0-9]*)?$`)
