// The Lua interpreter of Argo CD 3.5; see main.go.
module connect-operator.io/tests/lua

go 1.26.0

require github.com/yuin/gopher-lua v1.1.2
