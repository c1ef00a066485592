#!/bin/sh
# complete.sh: what clangd offers at the end of the words TYPED in a line of a file, a word each, as
# an editor asks for it. usage: complete.sh FILE LINE TYPED
file=$(realpath "$1") line=$2 typed=$3
text=$(perl -MJSON::PP -0777 -e 'print JSON::PP->new->allow_nonref->encode(scalar <STDIN>)' <"$file")
column=$(awk -v n="$line" -v typed="$typed" 'NR == n { print index($0, typed) - 1 + length(typed) }' "$file")
uri=file://$(printf '%s' "$file" | sed 's/%/%25/g; s/ /%20/g')
message() {
    printf 'Content-Length: %d\r\n\r\n%s' "$(printf '%s' "$1" | wc -c)" "$1"
}
{
    message '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
    message '{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"'"$uri"'","languageId":"cuda","version":1,"text":'"$text"'}}}'
    message '{"jsonrpc":"2.0","id":2,"method":"textDocument/completion","params":{"textDocument":{"uri":"'"$uri"'"},"position":{"line":'$((line - 1))',"character":'"$column"'}}}'
    message '{"jsonrpc":"2.0","id":3,"method":"shutdown"}'
    message '{"jsonrpc":"2.0","method":"exit"}'
} | clangd -sync --log=error 2>/dev/null | tr '{' '\n' | sed -n 's/.*"filterText":"\([^"]*\)".*/\1/p'
