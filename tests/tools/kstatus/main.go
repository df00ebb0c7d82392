// Command kstatus computes the status that Flux derives from objects: it reads a JSON list of objects from standard
// input, and writes a list of verdicts in the same order. See tests/apiserver/gitops/.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// verdict is the result of kstatus for one object.
type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	var objects []json.RawMessage
	if err := json.NewDecoder(input).Decode(&objects); err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(objects))
	for _, text := range objects {
		// UnmarshalJSON uses its own decoder, so that whole numbers are int64, as in the answer of an API server.
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return err
		}
		result, err := status.Compute(object)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict{Status: result.Status.String(), Message: result.Message})
	}
	return json.NewEncoder(output).Encode(verdicts)
}
