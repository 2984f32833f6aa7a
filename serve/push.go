package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/fault"
)

const (
	pushLimit   = 10 * time.Second // for one try
	pushTries   = 3
	pushPause   = time.Second // before the second try; doubled for the third
	maxPushes   = 8           // configurations of a task
	tokenHeader = "X-A2A-Notification-Token"
)

// pusher sends notifications. Notifications of one task to one configuration are sent in order.
type pusher struct {
	rules  PushRules
	client *http.Client
	log    *slog.Logger
	pause  time.Duration

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	sends  sync.WaitGroup

	mu     sync.Mutex
	boxes  map[string]*[][]byte // notifications to send, by task and configuration
	closed bool
}

func newPusher(rules PushRules, log *slog.Logger) *pusher {
	p := &pusher{rules: rules, log: log, pause: pushPause, boxes: map[string]*[][]byte{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	dialer := &net.Dialer{Timeout: pushLimit, ControlContext: p.dialed}
	p.client = &http.Client{
		Timeout: pushLimit,
		Transport: &http.Transport{
			DialContext:         dialer.DialContext, // without a proxy, which would connect for us
			TLSHandshakeTimeout: pushLimit, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// check refuses a configuration with a forbidden address.
func (p *pusher) check(c *a2a.PushConfig) error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil {
		return invalid("pushNotificationConfig.url: expected an address such as https://example.org/hook")
	}
	if len(c.ID) > maxID || len(c.URL) > 2048 || len(c.Token) > 4096 || strings.ContainsAny(c.Token, "\r\n") {
		return invalid("pushNotificationConfig: an id, an address or a token is too long, or has more than one line")
	}
	if a := c.Auth; a != nil && strings.ContainsAny(a.Credentials, "\r\n") {
		return invalid("pushNotificationConfig.authentication: the credentials have more than one line")
	}
	if p.listed(u) {
		return nil
	}
	ip, isIP := netip.ParseAddr(u.Hostname())
	local := strings.EqualFold(u.Hostname(), "localhost") || isIP == nil && ip.Unmap().IsLoopback()
	switch {
	case local && p.rules.Loopback && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	case u.Scheme != "https":
		return invalid("pushNotificationConfig.url: expected https")
	case local || isIP == nil && !p.allowed(ip):
		return invalid("pushNotificationConfig.url: this server sends nothing there")
	}
	return nil
}

// listed reports whether the rules name the host of u.
func (p *pusher) listed(u *url.URL) bool {
	if u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	same := func(h string) bool { return strings.EqualFold(h, u.Host) || strings.EqualFold(h, u.Hostname()) }
	if slices.ContainsFunc(p.rules.Hosts, same) {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && p.inNetworks(ip)
}

func (p *pusher) inNetworks(ip netip.Addr) bool { return within(p.rules.Networks, ip) }

func within(networks []netip.Prefix, ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // a prefix never matches an address with a zone
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// allowed reports whether notifications may go to an IP address.
func (p *pusher) allowed(ip netip.Addr) bool {
	ip = ip.Unmap()
	switch {
	case p.inNetworks(ip):
		return true
	case ip.IsLoopback():
		return p.rules.Loopback
	default:
		return isPublic(ip) && isPublic(translated(ip))
	}
}

// special are addresses that are not public, in addition to the kinds that [netip.Addr] can report.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this host
	netip.MustParsePrefix("100.64.0.0/10"),   // shared by providers, behind NAT: RFC 6598
	netip.MustParsePrefix("192.0.0.0/24"),    // protocols
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("::/96"),           // IPv4 in IPv6, obsolete
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4 in IPv6, for translators
	netip.MustParsePrefix("64:ff9b:1::/48"),  // a site's own NAT64: RFC 8215
	netip.MustParsePrefix("2001::/32"),       // Teredo
	netip.MustParsePrefix("fec0::/10"),       // site-local, obsolete
}

func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !within(special, ip)
}

// translated returns the IPv4 address that a gateway forwards to for an address of NAT64
// (64:ff9b::/96) or 6to4 (2002::/16). It returns ip for other addresses.
func translated(ip netip.Addr) netip.Addr {
	b := ip.As16()
	switch {
	case bytes.Equal(b[:12], []byte{0, 0x64, 0xff, 0x9b, 11: 0}):
		return netip.AddrFrom4([4]byte(b[12:]))
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:]))
	}
	return ip
}

type listedKey struct{}

// dialed refuses a connection to a forbidden address. It runs after the lookup of the name, since a
// name may point to any address.
func (p *pusher) dialed(ctx context.Context, _, address string, _ syscall.RawConn) error {
	if ok, _ := ctx.Value(listedKey{}).(bool); ok {
		return nil
	}
	to, err := netip.ParseAddrPort(address)
	if err == nil && p.allowed(to.Addr()) {
		return nil
	}
	return fault.Newf(fault.Instance, "notifications may not go to %s", address)
}

// notify sends the task's current state to all its configurations. The caller holds its context's
// mutex.
func (p *pusher) notify(t *task) {
	targets := t.targets()
	if len(targets) == 0 {
		return
	}
	seen, err := t.snapshot(nil)
	var body []byte
	if err == nil {
		body, err = json.Marshal(seen)
	}
	if err != nil {
		p.log.Error("making a notification", "task", t.id, "err", err)
		return
	}
	for _, c := range targets {
		p.post(string(t.id)+"\x00"+c.ID, *c, body)
	}
}

// post queues a body. Bodies with the same key are sent in order.
func (p *pusher) post(key string, to a2a.PushConfig, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if box := p.boxes[key]; box != nil {
		*box = append(*box, body)
		return
	}
	p.boxes[key] = &[][]byte{body}
	p.sends.Go(func() {
		for {
			body, ok := p.take(key)
			if !ok {
				return
			}
			p.deliver(to, body)
		}
	})
}

// take returns the next body to send.
func (p *pusher) take(key string) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	box := p.boxes[key]
	if len(*box) == 0 {
		delete(p.boxes, key)
		return nil, false
	}
	body := (*box)[0]
	*box = (*box)[1:]
	return body, true
}

// deliver tries to send a notification. After the last try it is lost: the caller can still ask for
// the task.
func (p *pusher) deliver(to a2a.PushConfig, body []byte) {
	pause := p.pause
	for try := 1; ; try++ {
		again, err := p.send(to, body)
		if err == nil {
			return
		}
		if !again || try == pushTries || p.ctx.Err() != nil {
			p.log.Warn("a notification was not delivered", "host", hostOf(to.URL), "tries", try, "err", err)
			return
		}
		select {
		case <-time.After(pause):
		case <-p.ctx.Done():
		}
		pause *= 2
	}
}

// hostOf returns the part of an address that may be logged: its path may be a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// send makes one try.
func (p *pusher) send(to a2a.PushConfig, body []byte) (again bool, err error) {
	u, err := url.Parse(to.URL)
	if err != nil {
		return false, err
	}
	ctx := context.WithValue(p.ctx, listedKey{}, p.listed(u))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if to.Token != "" {
		req.Header.Set(tokenHeader, to.Token)
	}
	if a := to.Auth; a != nil && a.Credentials != "" {
		for _, scheme := range a.Schemes {
			if strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic") {
				req.Header.Set("Authorization", scheme+" "+a.Credentials)
				break
			}
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		var at *url.Error
		if e, ok := err.(*url.Error); ok {
			at = e
			err = at.Err // drop the address
		}
		return true, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests, fmt.Errorf("the answer was %s", resp.Status)
	}
	return false, nil
}

// close sends the queued notifications with at most one try each, and accepts no more.
func (p *pusher) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.sends.Wait()
	}()
	select {
	case <-done:
	case <-time.After(pushLimit):
		p.cancel()
		<-done
	}
	p.cancel()
	p.client.CloseIdleConnections()
}
