"""pyburn completion SHELL: completion scripts generated from the argument parser."""

from __future__ import annotations

import argparse

from .main import make_parser


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = make_parser()
    action = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings if name.startswith("--")]


def choices_of(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Returns the choices of options, and of the positional argument under the name ""."""
    found = {}
    for action in parser._actions:
        if action.choices and not isinstance(action, argparse._SubParsersAction):
            for name in action.option_strings or [""]:
                found[name] = [str(choice) for choice in action.choices]
    return found


def helps() -> dict[str, str]:
    parser = make_parser()
    action = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {str(choice.dest): str(choice.help) for choice in action._choices_actions}


def bash() -> str:
    lines = [
        '# eval "$(pyburn completion bash)"',
        "_pyburn() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        "  if [ $COMP_CWORD -eq 1 ]; then",
        f'    COMPREPLY=($(compgen -W "{" ".join(commands())} {" ".join(options_of(make_parser()))}" -- "$word")); return',
        "  fi",
        '  case "$command $before" in',
    ]
    for name, parser in commands().items():
        for option, values in choices_of(parser).items():
            if option:
                lines.append(f'    "{name} {option}") COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$word")); return ;;')
    lines += ["  esac", '  case "$command" in']
    for name, parser in commands().items():
        words = " ".join([*options_of(parser), *choices_of(parser).get("", [])])
        lines.append(f'    {name}) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;')
    lines += [
        "  esac",
        '  [[ "$word" == -* ]] || COMPREPLY+=($(compgen -f -- "$word"))',
        "}",
        "complete -o filenames -F _pyburn pyburn",
        "",
    ]
    return "\n".join(lines)


def zsh() -> str:
    described = " ".join(f"'{name}:{_quoted(text)}'" for name, text in helps().items())
    lines = [
        "#compdef pyburn",
        '# eval "$(pyburn completion zsh)"',
        "_pyburn() {",
        "  local -a commands",
        f"  commands=({described})",
        "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "  case $words[2] in",
    ]
    for name, parser in commands().items():
        specs = []
        for action in parser._actions:
            for option in (o for o in action.option_strings if o.startswith("--")):
                values = (
                    f":value:({' '.join(map(str, action.choices))})" if action.choices else "" if action.nargs == 0 else ":value:_files"
                )
                specs.append(f"'{option}[{_quoted(str(action.help or ''))}]{values}'")
        own = choices_of(parser).get("")
        specs.append(f"'*:value:({' '.join(own)})'" if own else "'*:file:_files'")
        lines.append(f"    {name}) _arguments {' '.join(specs)} ;;")
    lines += ["  esac", "}", "compdef _pyburn pyburn", ""]
    return "\n".join(lines)


def fish() -> str:
    lines = ["# pyburn completion fish | source"]
    for name, text in helps().items():
        lines.append(f"complete -c pyburn -n __fish_use_subcommand -f -a {name} -d '{_quoted(text)}'")
    for name, parser in commands().items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for action in parser._actions:
            for option in (o for o in action.option_strings if o.startswith("--")):
                values = f" -x -a '{' '.join(map(str, action.choices))}'" if action.choices else "" if action.nargs == 0 else " -r"
                lines.append(f"complete -c pyburn {seen} -l {option[2:]}{values} -d '{_quoted(str(action.help or ''))}'")
        if "" in choices_of(parser):
            lines.append(f"complete -c pyburn {seen} -f -a '{' '.join(choices_of(parser)[''])}'")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    """Removes the characters that end a quoted string or a description in the shells."""
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", " -")


def run(options: argparse.Namespace) -> int:
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](), end="")
    return 0
