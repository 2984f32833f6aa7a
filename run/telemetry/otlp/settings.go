package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// Options say where an exporter gets its settings from. All are required.
type Options struct {
	Getenv    func(string) string
	Log       *slog.Logger // for values that cannot be used
	UserAgent string       // of requests, unless a variable has this header
}

// settings configure the exporter of one signal.
type settings struct {
	url        url.URL
	header     http.Header
	json, gzip bool
	timeout    time.Duration
	tls        tls.Config
}

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

const prefix = "OTEL_EXPORTER_OTLP_"

// settings reads the settings of a signal, TRACES or METRICS.
func (o Options) settings(signal string) (*settings, error) {
	route := "/v1/" + strings.ToLower(signal)
	s := &settings{url: url.URL{Scheme: "https", Host: "localhost:4318", Path: route}, header: http.Header{}, timeout: 10 * time.Second}
	for _, p := range []string{prefix, prefix + signal + "_"} { // the signal's own variables win
		o.use(p+"ENDPOINT", func(value string) error {
			if p != prefix {
				return s.setURL(value, "")
			}
			return s.setURL(value, route)
		})
		o.use(p+"HEADERS", s.setHeader)
		o.use(p+"TIMEOUT", s.setTimeout)
		o.use(p+"CERTIFICATE", s.setRoots)
		o.use(p+"CLIENT_CERTIFICATE", func(value string) error {
			return s.setClientCertificate(value, strings.TrimSpace(o.Getenv(p+"CLIENT_KEY")))
		})
		o.use(p+"COMPRESSION", func(value string) error { s.gzip = value == "gzip"; return nil })
		o.use(p+"PROTOCOL", func(value string) error { s.json = value == "http/json"; return nil })
	}
	for _, p := range []string{prefix, prefix + signal + "_"} { // after both addresses
		o.use(p+"INSECURE", s.setInsecure)
	}
	if s.url.Scheme == "http" && (s.tls.RootCAs != nil || s.tls.Certificates != nil) {
		return nil, errors.New("a certificate is set, but the endpoint is not https")
	}
	s.completeHeader(o.UserAgent)
	return s, nil
}

// use calls set with the value of a variable, unless it is empty.
func (o Options) use(variable string, set func(value string) error) {
	value := strings.TrimSpace(o.Getenv(variable))
	if value == "" {
		return
	}
	if err := set(value); err != nil {
		o.Log.Warn("a setting of telemetry, or a part of it, is ignored", "variable", variable, "err", err)
	}
}

func (s *settings) completeHeader(userAgent string) {
	s.header.Set("User-Agent", cmp.Or(s.header.Get("User-Agent"), userAgent))
	s.header.Set("Content-Type", typeProtobuf)
	if s.json {
		s.header.Set("Content-Type", typeJSON)
	}
	if s.gzip {
		s.header.Set("Content-Encoding", "gzip")
	}
}

// setURL sets the address to an endpoint, with route added to it.
func (s *settings) setURL(endpoint, route string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	s.url = url.URL{Scheme: "https", Host: u.Host, Path: cmp.Or(u.Path, "/")}
	if u.Scheme == "http" {
		s.url.Scheme = "http"
	}
	if route != "" {
		s.url.Path = path.Join(u.Path, route)
	}
	return nil
}

func (s *settings) setInsecure(value string) error {
	s.url.Scheme = "https"
	if strings.EqualFold(value, "true") {
		s.url.Scheme = "http"
	}
	return nil
}

// nameCharacters may be in the name of a header.
const nameCharacters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// setHeader leaves out what is not a header. Its error has no values: they may be secrets.
func (s *settings) setHeader(list string) (err error) {
	s.header = http.Header{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, e := url.PathUnescape(value)
		if !found || e != nil || name == "" || strings.Trim(name, nameCharacters) != "" {
			err = errors.New("expected NAME=VALUE,... with percent-encoded values")
			continue
		}
		s.header.Set(name, strings.TrimSpace(value))
	}
	return err
}

func (s *settings) setTimeout(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("%q: expected milliseconds", value)
	}
	s.timeout = time.Duration(n) * time.Millisecond
	return nil
}

func (s *settings) setRoots(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return fmt.Errorf("%s has no certificate in PEM format", file)
	}
	s.tls.RootCAs = roots
	return nil
}

// setClientCertificate does nothing without a key.
func (s *settings) setClientCertificate(file, key string) error {
	if key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(file, key)
	if err == nil {
		s.tls.Certificates = []tls.Certificate{pair}
	}
	return err
}
