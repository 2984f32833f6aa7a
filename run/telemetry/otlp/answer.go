package otlp

import (
	"fmt"

	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/encoding/protowire"
)

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
