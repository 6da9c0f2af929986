// What the book's pages do beyond mdBook's own scripts, which have run when this begins:
//
// - A diff of code (a fence `rust,diff`) is drawn anew: signs and removed lines are shown, and
//   neither the copy button nor a selection takes them along.
// - A transcript marks its commands; its copy button copies those alone.
// - What is folded opens for the printer.
//
// Without this script the page reads as well: the signs of a diff stand as text.
'use strict';

(function () {
    const KINDS = { '+': 'added', '-': 'removed' };

    document.querySelectorAll('pre > code.diff').forEach(drawDiff);
    document.querySelectorAll('pre > code.language-console').forEach(drawTranscript);
    copyWhatAReaderWants();
    openWhatIsFoldedForThePrinter();

    // A diff: each line becomes an element of its own, highlighted as what it is a line of.
    function drawDiff(code) {
        const lines = code.textContent.replace(/\n$/, '').split('\n').map(function (line) {
            return { kind: KINDS[line[0]] || 'kept', text: line.slice(1) };
        });
        // The old text and the new one are two programs; a line that both have is taken from the new.
        highlight(lines.filter(line => line.kind !== 'added'), languageOf(code));
        highlight(lines.filter(line => line.kind !== 'removed'), languageOf(code));

        const block = document.createElement('span');
        block.className = 'lines';
        lines.forEach(line => block.append(drawLine(line)));
        code.replaceChildren(block);
    }

    function drawLine(line) {
        const names = { added: 'ins', removed: 'del', kept: 'span' };
        const shown = document.createElement('span');
        shown.className = 'line';
        shown.innerHTML = line.html;
        // The line's end belongs to the line: where a removed line is not copied, its end is not.
        const whole = document.createElement(names[line.kind]);
        whole.className = line.kind;
        whole.append(shown, '\n');
        return whole;
    }

    function languageOf(code) {
        const found = /language-(\S+)/.exec(code.className);
        return found && hljs.getLanguage(found[1]) ? found[1] : 'plaintext';
    }

    // Highlights the lines as one text, and gives each its part of the HTML.
    function highlight(lines, language) {
        // Where all lines are added there is no old text.
        if (lines.length === 0) return;
        const text = lines.map(line => line.text).join('\n');
        const open = [];
        hljs.highlight(language, text, true).value.split('\n').forEach(function (html, index) {
            // A string or a comment over several lines is one element: it is closed at the end of
            // each line, and opened again on the next.
            const reopened = open.join('');
            (html.match(/<span[^>]*>|<\/span>/g) || []).forEach(function (tag) {
                if (tag === '</span>') open.pop();
                else open.push(tag);
            });
            lines[index].html = reopened + html + '</span>'.repeat(open.length);
        });
    }

    // A transcript: what is typed stands out from what a program answers. mdBook's highlighter
    // takes half of the output for commands, so its marks go.
    function drawTranscript(code) {
        const marks = [[/^\$ /, 'command'], [/^\s*✓ /, 'held'], [/^\s*✗ /, 'failed']];
        const lines = code.textContent.replace(/\n$/, '').split('\n');
        const drawn = lines.map(function (line) {
            const mark = marks.find(mark => mark[0].test(line));
            const shown = document.createElement('span');
            if (mark) shown.className = mark[1];
            shown.textContent = line + '\n';
            return shown;
        });
        code.replaceChildren(...drawn);
        const button = code.parentElement.querySelector('.clip-button');
        if (button && commandsOf(code)) {
            button.title = 'Copy the command';
            button.setAttribute('aria-label', button.title);
        }
    }

    // Without the last line's end, with which a shell would run what is pasted before it is read.
    function commandsOf(code) {
        const commands = Array.from(code.querySelectorAll('.command'));
        return commands.map(command => command.textContent.replace('$ ', '')).join('').trimEnd();
    }

    // mdBook's copy button asks this function of its own for the text of a block.
    function copyWhatAReaderWants() {
        const plainText = window.playground_text;
        window.playground_text = function (pre, hidden) {
            const code = pre.querySelector('code');
            if (code.matches('.diff')) {
                const lines = Array.from(code.querySelectorAll('.kept, .added'));
                return lines.map(line => line.textContent).join('');
            }
            return commandsOf(code) || plainText(pre, hidden);
        };
    }

    function openWhatIsFoldedForThePrinter() {
        let opened = [];
        window.addEventListener('beforeprint', function () {
            opened = Array.from(document.querySelectorAll('details:not([open])'));
            opened.forEach(details => { details.open = true; });
        });
        window.addEventListener('afterprint', function () {
            opened.forEach(details => { details.open = false; });
        });
    }
})();
