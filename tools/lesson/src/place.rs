//! How a file is named to a person: one form everywhere, short enough to be typed.

use std::path::Path;

/// From the current folder, or from the clone's root (`steps/00-loop/scene.toml`), where the path
/// is below it; else whole.
pub fn short(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let steps = path.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "steps"));
    let below = path.strip_prefix(&here).ok().or_else(|| {
        let root = steps?.parent()?;
        root.join("Cargo.toml").is_file().then(|| path.strip_prefix(root).ok())?
    });
    below.unwrap_or(path).display().to_string().replace('\\', "/")
}

/// Whether a folder's name begins with the number of a step: `02`.
pub fn is_step_number(word: &str) -> bool {
    word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A text in which each mention of the path is its short form.
pub fn shortened(text: &str, path: &Path) -> String {
    text.replace(&path.display().to_string(), &short(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_here_or_from_the_root() {
        let here = std::env::current_dir().expect("there is one");
        assert_eq!(short(&here.join("src").join("place.rs")), "src/place.rs");
        let root = tempfile::tempdir().expect("a temporary folder");
        let scene = root.path().join("steps").join("00-loop").join("scene.toml");
        assert_eq!(short(&scene), scene.display().to_string());
        std::fs::write(root.path().join("Cargo.toml"), "").expect("written");
        assert_eq!(short(&scene), "steps/00-loop/scene.toml");
        let said = format!("{}:19: no", scene.display());
        assert_eq!(shortened(&said, &scene), "steps/00-loop/scene.toml:19: no");
    }
}
