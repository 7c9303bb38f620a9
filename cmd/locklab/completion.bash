# Completion of locklab for bash: load it by source <(locklab completion bash).
_locklab() {
    # What stands left of the cursor, where no word ends but at a blank: bash's own words end at
    # = and : too, as COMP_WORDBREAKS says.
    local rest=${COMP_LINE:0:COMP_POINT} words=() word blank i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blank=${rest%%[![:space:]]*}
        rest=${rest#"$blank"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$rest
        if [[ $i -gt 0 && -z $blank ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#"$word"}
    done
    local last=$((${#words[@]} - 1))
    local typed=${words[last]} flag=
    local before=${typed%"${typed##*["$COMP_WORDBREAKS"]}"} # bash puts offers behind that
    if [[ $typed == [\"\']* ]]; then
        typed=${typed:1} before= # between quotes no word ends
    fi
    [[ $typed == -*=* ]] && flag=${typed%%=*}= # offers are of its value

    local said directive offer
    said=$("${words[0]/#\~/$HOME}" __completeNoDesc "${words[@]:1:last-1}" "$typed" 2>/dev/null) || return
    directive=${said##*:}
    COMPREPLY=()
    while IFS= read -r offer; do
        [[ $offer == :* || -z $offer ]] && continue
        offer=$flag$offer
        [[ $offer == "$typed"* ]] && COMPREPLY+=("${offer#"$before"}")
    done <<<"$said"
    ((directive & 2)) && compopt -o nospace
    ((directive & 4)) || compopt -o default # files, where there is no offer
}
complete -F _locklab locklab
