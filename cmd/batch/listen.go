package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"batch.example/batch/fault"
)

// listenFlags say where a server listens, and with which certificate.
type listenFlags struct{ listen, cert, key string }

func (f *listenFlags) add(fs *pflag.FlagSet, address string) {
	fs.StringVar(&f.listen, "listen", address, "`ADDRESS` to listen at; port 0 is any free one")
}

func (f *listenFlags) addTLS(fs *pflag.FlagSet) {
	fs.StringVar(&f.cert, "tls-cert", "", "certificate of the server: a PEM `FILE`, with its chain")
	fs.StringVar(&f.key, "tls-key", "", "key of --tls-cert: a PEM `FILE`")
}

func (f *listenFlags) checkTLS() error {
	if (f.cert == "") != (f.key == "") {
		return fault.Newf(fault.Usage, "--tls-cert and --tls-key are needed together")
	}
	return nil
}

// resolved resolves the address of --listen.
func (f *listenFlags) resolved(ctx context.Context) (*net.TCPAddr, error) {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, fault.New(fault.Usage, "--listen "+f.listen, err).WithHint("expected an address such as 127.0.0.1:4100")
	}
	to := &net.TCPAddr{}
	if to.Port, err = net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return nil, fault.New(fault.Usage, "--listen "+f.listen, err)
	}
	if host == "" {
		return to, nil
	}
	if strings.HasSuffix(host, ".localhost") { // browsers find such names on this machine, resolvers may not
		to.IP = net.IPv4(127, 0, 0, 1)
		return to, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, fault.New(fault.Usage, "--listen "+f.listen, err)
	}
	to.IP, to.Zone = ips[0].IP, ips[0].Zone
	return to, nil
}

// tls returns the settings of TLS; nil: there is none.
func (f *listenFlags) tls() (*tls.Config, error) {
	if f.cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading --tls-cert and --tls-key", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// open listens at an address.
func (f *listenFlags) open(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fault.New(fault.Usage, "--listen "+f.listen, err)
	}
	return l, nil
}

// at returns the address at which a listener is reached.
func (f *listenFlags) at(l net.Listener) string {
	to := l.Addr().(*net.TCPAddr)
	host, scheme := to.IP.String(), "http"
	if to.IP.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	if f.cert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, fmt.Sprint(to.Port)) + "/"
}

// answering is a server that answers requests until it is shut.
type answering struct {
	server *http.Server
	ended  chan error
}

// answer begins to answer requests, and calls ended when that has ended for any reason.
func answer(server *http.Server, l net.Listener, ended func()) answering {
	a := answering{server, make(chan error, 1)}
	go func() {
		defer ended()
		if server.TLSConfig != nil {
			a.ended <- server.ServeTLS(l, "", "")
		} else {
			a.ended <- server.Serve(l)
		}
	}()
	return a
}

// shutLimit is how long clients may take to read the last answers.
const shutLimit = 5 * time.Second

// shut ends the server. The error is why it has ended before.
func (a answering) shut(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), shutLimit)
	defer done()
	if a.server.Shutdown(ctx) != nil { // a client does not read its answer
		_ = a.server.Close()
	}
	if err := <-a.ended; !errors.Is(err, http.ErrServerClosed) {
		return fault.New(fault.Host, "serving", err)
	}
	return nil
}
