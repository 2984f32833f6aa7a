package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"batch.example/batch/internal/retry"
)

// client posts messages to one address.
type client struct {
	*settings
	http    *http.Client
	stopped context.Context
	stop    context.CancelFunc
}

var errStopped = errors.New("the exporter is shut down")

func newClient(s *settings) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &s.tls
	c := &client{settings: s, http: &http.Client{Transport: transport, Timeout: s.timeout}}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop ends all uploads.
func (c *client) Stop(ctx context.Context) error {
	c.stop()
	c.http.CloseIdleConnections()
	return ctx.Err()
}

func (c *client) upload(ctx context.Context, m proto.Message) error {
	if c.stopped.Err() != nil {
		return errStopped
	}
	body, err := c.encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.stopped, func() { cancel(errStopped) })()
	return c.send(ctx, body)
}

// encode returns the body of a request.
func (c *client) encode(m proto.Message) ([]byte, error) {
	marshal := proto.Marshal
	if c.json {
		marshal = protojson.MarshalOptions{UseEnumNumbers: true}.Marshal
	}
	data, err := marshal(m)
	if err != nil || !c.gzip {
		return data, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// Requests are sent again for retryLimit, after waits from firstWait to longestWait.
const (
	firstWait   = 5 * time.Second
	longestWait = 30 * time.Second
	retryLimit  = time.Minute
)

// send posts body until the collector takes or refuses it.
func (c *client) send(ctx context.Context, body []byte) error {
	policy := retry.Policy{First: firstWait, Longest: longestWait, Factor: 1.5, Jitter: .5, Total: retryLimit}
	for tries := policy.Start(); ; {
		again, after, err := c.post(ctx, body)
		wait, more := tries.Next(after)
		if err == nil || !again || !more {
			return err
		}
		if retry.Sleep(ctx, wait) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 4 << 20

// passing are the statuses after which a request may succeed later.
var passing = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// post sends body once. After an error, again reports whether sending it again may help; after
// is the wait that the collector asks for.
func (c *client) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header = c.header.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		e, ok := errors.AsType[*url.Error](err)
		return ok && e.Temporary(), 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 == 2 {
		if err == nil {
			err = rejection(resp.Header.Get("Content-Type"), answer)
		}
		return false, 0, err
	}
	err = fmt.Errorf("%s answers %s: %s", req.URL, resp.Status, bytes.TrimSpace(answer))
	return slices.Contains(passing, resp.StatusCode), retry.After(resp.Header), err
}

// rejection returns an error if the collector's answer says that it did not take everything, or
// has a warning. The answer is an Export...ServiceResponse: field 1, partialSuccess, has the
// number of rejected items (1) and a message (2). The generated types are in packages that
// import gRPC.
func rejection(contentType string, answer []byte) error {
	var rejected int64
	var message string
	switch contentType {
	case typeProtobuf:
		_, partial, err := field(answer, 1)
		if err != nil {
			return err
		}
		n, _, err := field(partial, 1)
		if err != nil {
			return err
		}
		_, text, _ := field(partial, 2)
		rejected, message = int64(n), string(text)
	case typeJSON:
		partial := gjson.GetBytes(answer, "partialSuccess")
		rejected = partial.Get("rejectedSpans").Int() + partial.Get("rejectedDataPoints").Int()
		message = partial.Get("errorMessage").String()
	}
	if rejected == 0 && message == "" {
		return nil
	}
	return fmt.Errorf("the collector rejected %d items: %s", rejected, message)
}

// field returns the last field of a protobuf message with this number: n of a varint, data of
// bytes.
func field(message []byte, number protowire.Number) (n uint64, data []byte, err error) {
	for len(message) > 0 {
		found, kind, size := protowire.ConsumeField(message)
		if size < 0 {
			return 0, nil, fmt.Errorf("the collector's answer is not protobuf: %w", protowire.ParseError(size))
		}
		_, _, tag := protowire.ConsumeTag(message)
		if found == number && kind == protowire.VarintType {
			n, _ = protowire.ConsumeVarint(message[tag:])
		} else if found == number && kind == protowire.BytesType {
			data, _ = protowire.ConsumeBytes(message[tag:])
		}
		message = message[size:]
	}
	return n, data, nil
}
