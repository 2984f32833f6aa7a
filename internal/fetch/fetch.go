// Package fetch downloads the files that the rows of a dataset name. Others wrote these addresses, so they
// are not trusted: only public servers are asked, also after redirects, for no more bytes and no longer than
// the caller allows. A proxy of the user's (HTTP_PROXY, HTTPS_PROXY) is given only names and public addresses, and
// decides itself where a name leads.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
)

// ErrRefused is in the chain of an error when an address is never asked: it is no http address, or the
// server is not a public one.
var ErrRefused = errors.New("the address is refused")

// Client downloads files. It is safe for concurrent use.
type Client struct {
	Limit   int64         // bytes of a file, which memory holds
	Timeout time.Duration // of a download, with its redirects
	Dir     string        // keeps what was downloaded for other processes; empty: nothing is kept

	anywhere bool // for tests, whose servers are on this machine
}

// Get returns the file at an address. Check looks at the bytes before they are kept; nil accepts all. An
// error is a fault: Transient if the network or the server failed, otherwise an Instance fault.
func (c Client) Get(ctx context.Context, address string, check func([]byte) error) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fault.New(fault.Instance, fmt.Sprintf("%q is not an http address", address), ErrRefused)
	}
	if data, ok := c.kept(address); ok && (check == nil || check(data) == nil) {
		return data, nil
	}
	data, err := c.download(ctx, address)
	if err != nil {
		return nil, err
	}
	if check != nil {
		if err := check(data); err != nil {
			return nil, fault.New(fault.Instance, address, err)
		}
	}
	c.keep(address, data)
	return data, nil
}

func (c Client) download(ctx context.Context, address string) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.New(fault.Instance, "", err)
	}
	resp, err := (&http.Client{Transport: guard{c.anywhere}}).Do(req)
	switch {
	case errors.Is(err, ErrRefused):
		return nil, fault.New(fault.Instance, "", err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fault.New(fault.Transient, "", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fault.Newf(blame(resp.StatusCode), "%s: %s", address, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.Limit+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fault.New(fault.Transient, address, err)
	case int64(len(data)) > c.Limit:
		return nil, fault.Newf(fault.Instance, "%s: more than %d bytes", address, c.Limit)
	}
	return data, nil
}

// blame classifies a status that is not 200.
func blame(status int) fault.Kind {
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return fault.Transient
	}
	return fault.Instance
}

// guard sends requests to public servers.
type guard struct{ anywhere bool }

// RoundTrip implements http.RoundTripper. It is called for each redirect too.
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && req.URL.Scheme != "http" {
		return nil, fmt.Errorf("%w: %q is not an http address", ErrRefused, req.URL)
	}
	if to, err := netip.ParseAddr(req.URL.Hostname()); err == nil && !g.anywhere && !public(to.Unmap()) { // a proxy may reach it
		return nil, fmt.Errorf("%w: %s is not a public server", ErrRefused, req.URL.Host)
	}
	if proxy, err := http.ProxyFromEnvironment(req); err != nil || proxy != nil || g.anywhere {
		return http.DefaultTransport.RoundTrip(req)
	}
	return direct.RoundTrip(req)
}

// direct connects only to public addresses: it looks at the address that a name was resolved to.
var direct = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second, Control: onlyPublic}).DialContext,
	ForceAttemptHTTP2:   true,
	TLSHandshakeTimeout: 10 * time.Second,
	IdleConnTimeout:     10 * time.Second,
}

func onlyPublic(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !public(to.Addr().Unmap()) {
		return fmt.Errorf("%w: %s is not a public server", ErrRefused, address)
	}
	return nil
}

func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// reserved lists the blocks that no public server is in, and those that lead into IPv4 by another way.
var reserved = func() (list []netip.Prefix) {
	const blocks = "0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16 fec0::/10"
	for block := range strings.FieldsSeq(blocks) {
		list = append(list, netip.MustParsePrefix(block))
	}
	return list
}()

// kept returns what an earlier download of the address has left. A damaged file counts as none.
func (c Client) kept(address string) ([]byte, bool) {
	if c.Dir == "" {
		return nil, false
	}
	files, _ := filepath.Glob(filepath.Join(c.Dir, sum([]byte(address))+"-*"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(file, "-"+sum(data)) {
			return data, true
		}
	}
	return nil, false
}

// keep writes a file that is named after the digests of the address and of its bytes. A folder that cannot
// be written keeps nothing: the next process downloads the file again.
func (c Client) keep(address string, data []byte) {
	if c.Dir == "" || os.MkdirAll(c.Dir, 0o700) != nil {
		return
	}
	name := sum([]byte(address)) + "-" + sum(data)
	_ = atomicfile.Files{}.Write(filepath.Join(c.Dir, name), 0o600, atomicfile.Bytes(data))
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
